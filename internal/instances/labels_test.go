package instances

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"digitalocean-cloud-controller-manager/internal/inventory"
)

func TestDropletLabels(t *testing.T) {
	plain := map[string]string{labelDropletID: "7", labelGPU: "false"}
	tests := []struct {
		name     string
		droplet  inventory.Droplet
		patterns []string
		want     map[string]string
	}{
		{"nothing known", inventory.Droplet{}, nil, nil},
		{"VPC and image", inventory.Droplet{VPC: "5a4981aa", Image: "ubuntu-24-04-x64"}, nil, map[string]string{labelVPC: "5a4981aa", labelImage: "ubuntu-24-04-x64"}},
		{"GPU", inventory.Droplet{GPU: "nvidia_h100"}, nil, map[string]string{labelGPU: "true", labelGPUModel: "nvidia_h100"}},
		{"no tags unless selected", inventory.Droplet{Tags: []string{"pool:web"}}, nil, nil},
		{"selected tags", inventory.Droplet{Tags: []string{"pool:web", "spot", "k8s:id"}}, []string{"pool:*", "spot"}, map[string]string{labelTag + "pool": "web", labelTag + "spot": "true"}},
		{"two tags of one name: the first in order", inventory.Droplet{Tags: []string{"pool:b", "pool:a"}}, []string{"pool:*"}, map[string]string{labelTag + "pool": "a"}},
		{"a value with colons", inventory.Droplet{Tags: []string{"a:b:c"}}, []string{"*"}, map[string]string{labelTag + "a": "b-c"}},
		{"a value that can't be one", inventory.Droplet{Tags: []string{"a:--"}}, []string{"*"}, map[string]string{labelTag + "a": "true"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.droplet.ID = 7
			want := map[string]string{}
			for _, m := range []map[string]string{plain, test.want} {
				for k, v := range m {
					want[k] = v
				}
			}
			if diff := cmp.Diff(want, dropletLabels(test.droplet, test.patterns)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzDropletLabelsAreValid(f *testing.F) {
	f.Add("pool:web", "image")
	f.Add(strings.Repeat("a", 255), strings.Repeat("-", 99))
	f.Add(":", "_")
	f.Add("-_.:é", "ü")
	f.Fuzz(func(t *testing.T, tag, text string) {
		d := inventory.Droplet{ID: 1, Tags: []string{tag}, Image: text, VPC: text, GPU: text}
		for key, value := range dropletLabels(d, []string{"*"}) {
			if problems := validation.IsQualifiedName(key); len(problems) > 0 {
				t.Errorf("key %q: %v", key, problems)
			}
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Errorf("value %q: %v", value, problems)
			}
		}
	})
}
