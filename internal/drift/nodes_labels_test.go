package drift

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestLabelsFollowTheDroplet(t *testing.T) {
	tests := map[string]struct {
		change simulator.DropletPatch
		want   map[string]any
	}{
		"a resize changes both generations at once": {
			simulator.DropletPatch{Size: new("s-4vcpu-8gb")},
			map[string]any{v1.LabelInstanceType: "s-4vcpu-8gb", v1.LabelInstanceTypeStable: "s-4vcpu-8gb"},
		},
		"another tag": {
			simulator.DropletPatch{Tags: &[]string{"pool:api", "other:tag"}},
			map[string]any{"digitalocean.com/tag-pool": "api"},
		},
		"one more tag": {
			simulator.DropletPatch{Tags: &[]string{"pool:web", "env:prod"}},
			map[string]any{"digitalocean.com/tag-env": "prod"},
		},
		"a tag less": {
			simulator.DropletPatch{Tags: &[]string{}},
			map[string]any{"digitalocean.com/tag-pool": nil},
		},
		"nothing that is ours": {simulator.DropletPatch{Tags: &[]string{"pool:web", "unrelated"}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNodeWorld(t, []string{"pool:*", "env:*"})
				id := w.add("w0", "pool:web")
				w.add("w1", "pool:web")
				if patches, _, err := w.check(); err != nil || len(patches) > 0 {
					t.Fatalf("unchanged droplets: %v %v", patches, err)
				}
				w.change(id, test.change)
				patches, _, err := w.check()
				if err != nil {
					t.Fatal(err)
				}
				var got map[string]any
				for _, patch := range patches {
					if got != nil || !strings.HasPrefix(patch, "w0 ") {
						t.Fatalf("patches %q", patches)
					}
					got = labelsIn(t, patch)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("patch (-want +got):\n%s", diff)
				}
				if patches, _, err := w.check(); err != nil || len(patches) > 0 {
					t.Errorf("written again: %v %v", patches, err)
				}
			})
		})
	}
}

func TestOnlyOwnLabelsAreTouched(t *testing.T) {
	tests := map[string]struct {
		patterns []string
		edit     map[string]string
		want     map[string]any
	}{
		"labels of users stay":                               {nil, map[string]string{"user": "other", "example.com/digitalocean": "x", v1.LabelTopologyZone: "zone-a"}, nil},
		"what looks like a tag's stays where tags make none": {nil, map[string]string{"digitalocean.com/tag-pool": "mine"}, nil},
		"own labels changed by hand are put back": {
			nil,
			map[string]string{"digitalocean.com/droplet-id": "7", v1.LabelTopologyRegion: "ams3", "digitalocean.com/gpu-model": "x"},
			map[string]any{"digitalocean.com/gpu-model": nil, v1.LabelTopologyRegion: "nyc3"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNodeWorld(t, test.patterns)
				id := w.add("w0")
				node, err := w.kube.CoreV1().Nodes().Get(t.Context(), "w0", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for key, value := range test.edit {
					node.Labels[key] = value
				}
				if _, err := w.kube.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				if _, ok := test.edit["digitalocean.com/droplet-id"]; ok {
					test.want["digitalocean.com/droplet-id"] = fmt.Sprint(id)
				}
				patches, _, err := w.check()
				if err != nil {
					t.Fatal(err)
				}
				var got map[string]any
				for _, patch := range patches {
					got = labelsIn(t, patch)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("patch (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A token that lost the right to read tags sees droplets without any, which must
// not take the labels away that pods select Nodes by.
func TestTagLabelsStayWhenTagsCannotBeRead(t *testing.T) {
	tests := map[string]struct {
		mayRead bool
		want    int
	}{"the token reads tags": {true, 1}, "the token reads none": {false, 0}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNodeWorld(t, []string{"pool:*"})
				id := w.add("w0", "pool:web")
				w.change(id, simulator.DropletPatch{Tags: &[]string{}, Size: new("s-4vcpu-8gb")})
				if !test.mayRead {
					w.sim.AddFault(simulator.Fault{Path: "/v2/tags", Status: http.StatusForbidden})
				}
				patches, calls, err := w.check()
				if err != nil || len(patches) != 1 {
					t.Fatalf("%v %v", patches, err)
				}
				labels := labelsIn(t, patches[0])
				if _, removed := labels["digitalocean.com/tag-pool"]; removed != test.mayRead {
					t.Errorf("patched %v", labels)
				}
				if labels[v1.LabelInstanceType] != "s-4vcpu-8gb" {
					t.Error("the other labels were not put right")
				}
				if len(calls) != 2 {
					t.Errorf("calls %v, want one of droplets and one of tags", calls)
				}
			})
		})
	}
}

func TestNodeLabelsCostOneRefreshAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNodeWorld(t, nil)
		for i := range 450 {
			w.add(fmt.Sprint("w", i))
			time.Sleep(time.Second) // of the bubble: each was read by itself
		}
		for range 3 {
			if _, calls, err := w.check(); err != nil || len(calls) > 3 {
				t.Errorf("%d calls for 450 Nodes, want the three pages of one list: %v", len(calls), err)
			}
		}
		w.sim.ResetRequests()
		if err := w.nodes.Check(t.Context()); err != nil || len(w.sim.Requests()) > 0 {
			t.Errorf("%d calls a moment after a refresh: %v", len(w.sim.Requests()), err)
		}
	})
}
