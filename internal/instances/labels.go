package instances

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"digitalocean-cloud-controller-manager/internal/inventory"
)

// Labels of our own on Nodes.
const (
	labelDropletID = "digitalocean.com/droplet-id"
	labelVPC       = "digitalocean.com/vpc"
	labelImage     = "digitalocean.com/image"
	labelGPU       = "digitalocean.com/gpu"
	labelGPUModel  = "digitalocean.com/gpu-model"
	// labelTag and the first part of a tag such as pool:web make a label
	// digitalocean.com/tag-pool with the value web. The fixed start keeps tags
	// from setting anybody else's label.
	labelTag = "digitalocean.com/tag-"
)

// maxLabelLength bounds a label's value, and the part of its key behind the
// slash.
const maxLabelLength = 63

// dropletLabels are the labels of a droplet's Node besides the well-known ones.
// patterns select the tags that become labels, as path.Match has it.
func dropletLabels(d inventory.Droplet, patterns []string) map[string]string {
	labels := map[string]string{
		labelDropletID: strconv.Itoa(d.ID),
		labelGPU:       strconv.FormatBool(d.GPU != ""),
	}
	set := func(key, value string) {
		if value = labelText(value); value != "" {
			labels[key] = value
		}
	}
	set(labelVPC, d.VPC)
	set(labelImage, d.Image)
	set(labelGPUModel, d.GPU)
	// The order decides when two tags make the same label: the first wins,
	// whatever order the API has them in.
	for _, tag := range slices.Backward(slices.Sorted(slices.Values(d.Tags))) {
		if key, value, ok := tagLabel(tag); ok && matchesAny(tag, patterns) {
			labels[key] = value
		}
	}
	return labels
}

func matchesAny(tag string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, tag) // validated with the configuration
		return ok
	})
}

// tagLabel makes a label of a tag: what is before the first colon names it,
// what is behind is the value, "true" where there is none. A tag without a name
// makes none.
func tagLabel(tag string) (key, value string, ok bool) {
	name, value, _ := strings.Cut(tag, ":")
	if value = labelText(value); value == "" {
		value = "true"
	}
	name = labelText(name)
	limit := maxLabelLength - len(labelTag) + strings.Index(labelTag, "/") + 1
	name = strings.TrimRight(name[:min(len(name), limit)], "-_.")
	return labelTag + name, value, name != ""
}

var notLabelText = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)

// labelText makes a valid label value of any text: what isn't allowed becomes
// a dash, the ends are letters or digits, the length is bounded.
func labelText(s string) string {
	s = strings.TrimLeft(notLabelText.ReplaceAllString(s, "-"), "-_.")
	return strings.TrimRight(s[:min(len(s), maxLabelLength)], "-_.")
}
