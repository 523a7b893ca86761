package drift

import (
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// Labels of the manager's own that a Node can lose: the others are always given.
const (
	labelGPU      = "digitalocean.com/gpu"
	labelGPUModel = "digitalocean.com/gpu-model"
	labelTag      = "digitalocean.com/tag-"
)

// labelChange is what differs in a Node's labels. Nothing but labels that the
// manager gives is ever in it.
type labelChange struct {
	// set are labels to add or to change.
	set map[string]string
	// remove are labels that don't hold any more, and removeTags those of them
	// that were made of tags which the droplet doesn't show.
	remove, removeTags []string
}

func (c labelChange) isEmpty() bool { return len(c.set)+len(c.remove)+len(c.removeTags) == 0 }

// patch is the change as a merge patch of the labels.
func (c labelChange) patch() map[string]any {
	values := map[string]any{}
	for key, value := range c.set {
		values[key] = value
	}
	for _, keys := range [][]string{c.remove, c.removeTags} {
		for _, key := range keys {
			values[key] = nil
		}
	}
	return values
}

// compareLabels compares a Node's labels with what its droplet says. What the
// API left out changes nothing: a token may lack the right to see it.
func compareLabels(actual map[string]string, m *cloudprovider.InstanceMetadata, tagLabels bool) labelChange {
	want := wantedLabels(m)
	change := labelChange{set: map[string]string{}}
	for key, value := range want {
		if have, ok := actual[key]; !ok || have != value {
			change.set[key] = value
		}
	}
	for key := range actual {
		_, wanted := want[key]
		switch {
		case wanted:
		case key == labelGPUModel && want[labelGPU] == strconv.FormatBool(false):
			change.remove = append(change.remove, key)
		case tagLabels && strings.HasPrefix(key, labelTag):
			change.removeTags = append(change.removeTags, key)
		}
	}
	return change
}

// wantedLabels are all labels that the framework and the manager give a Node
// when it is initialised. The framework takes those of the first generation for
// the truth and writes the second by them, so both are changed at once.
func wantedLabels(m *cloudprovider.InstanceMetadata) map[string]string {
	want := map[string]string{}
	for key, value := range m.AdditionalLabels {
		want[key] = value
	}
	if m.InstanceType == "" {
		delete(want, labelGPU) // it is known by the type
	}
	for key, value := range map[string]string{
		v1.LabelInstanceType:            m.InstanceType,
		v1.LabelInstanceTypeStable:      m.InstanceType,
		v1.LabelFailureDomainBetaRegion: m.Region,
		v1.LabelTopologyRegion:          m.Region,
	} {
		if value != "" {
			want[key] = value
		}
	}
	return want
}

func hasTagLabel(labels map[string]string) bool {
	for key := range labels {
		if strings.HasPrefix(key, labelTag) {
			return true
		}
	}
	return false
}
