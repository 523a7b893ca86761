package inventory_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics/testutil"

	"digitalocean-cloud-controller-manager/internal/inventory"
)

func TestMetricsOfTheSnapshot(t *testing.T) {
	tests := []struct {
		name             string
		nodes, strangers int
		want             string
	}{
		{"nothing read", 0, 0, `
# HELP digitalocean_ccm_snapshot_droplets [ALPHA] Number of droplets of which the manager knows a state.
# TYPE digitalocean_ccm_snapshot_droplets gauge
digitalocean_ccm_snapshot_droplets 0
`},
		{"listed", 3, 7, `
# HELP digitalocean_ccm_snapshot_age_seconds [ALPHA] Time since that droplet of the Nodes' was read which was not read for longest. Absent while none was read.
# TYPE digitalocean_ccm_snapshot_age_seconds gauge
digitalocean_ccm_snapshot_age_seconds 90
# HELP digitalocean_ccm_snapshot_droplets [ALPHA] Number of droplets of which the manager knows a state.
# TYPE digitalocean_ccm_snapshot_droplets gauge
digitalocean_ccm_snapshot_droplets 10
# HELP digitalocean_ccm_snapshot_list_age_seconds [ALPHA] Time since the newest list of all droplets was begun. Absent while there was none, as where few Nodes are among many droplets.
# TYPE digitalocean_ccm_snapshot_list_age_seconds gauge
digitalocean_ccm_snapshot_list_age_seconds 90
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.strangers(test.strangers)
				w.nodes(test.nodes)
				w.sweep(time.Minute)
				time.Sleep(90 * time.Second)
				if err := testutil.CustomCollectAndCompare(inventory.NewCollector(w.droplets), strings.NewReader(test.want)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAgeIsThatOfTheOldestReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.strangers(3000) // so that each droplet is read by itself
		first := w.nodes(1)
		w.sweep(time.Hour)
		time.Sleep(time.Minute)
		w.nodes(1)
		w.sweep(time.Hour)
		time.Sleep(time.Minute)
		s := w.droplets.Statistics()
		if age := time.Since(s.Oldest); age != 2*time.Minute {
			t.Errorf("age %s, want that of droplet %d", age, first[0])
		}
		if !s.Listed.IsZero() {
			t.Errorf("a whole list %s ago", time.Since(s.Listed))
		}
	})
}
