package targets

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/mangle"
)

// run has the tag follow backends that come and go, of which one stays.
func (r *rig) run(stay, comes, goes int) {
	r.t.Helper()
	for _, ids := range [][]int{{stay, goes}, {stay, goes, comes}, {stay, comes}} {
		_, _ = r.sync(ids...) // it may fail now
		if !slices.Contains(r.carriers(), stay) {
			r.t.Errorf("droplet %d lost the tag", stay)
		}
		r.tag.Doubt()
		time.Sleep(longestWait)
	}
	// And then somebody deletes it.
	if _, err := r.client.Tags.Delete(r.t.Context(), name); err != nil {
		r.t.Fatal(err)
	}
	_, _ = r.sync(stay, comes)
	time.Sleep(longestWait)
}

// One field of the API's answers at a time is missing, null, empty or of another
// type: nothing panics, no backend loses the tag, and all is well when it is over.
func TestAFieldThatIsWrongTakesTheTagFromNoBackend(t *testing.T) {
	inOrdeal := func(t *testing.T, change *mangle.Change) (seen []mangle.Change) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			stay, goes, comes := r.droplet("stays"), r.droplet("goes"), r.droplet("comes")
			stranger := r.droplet("stranger", "other")
			if _, err := r.sync(stay, goes); err != nil {
				t.Fatal(err)
			}
			r.tag.Doubt()
			r.wire.Begin(change)
			r.run(stay, comes, goes)
			if change != nil && r.wire.Hits() == 0 {
				t.Error("nothing was changed")
			}
			r.wire.Begin(nil)
			r.tag.Doubt()
			if _, err := r.sync(stay, comes); err != nil {
				t.Error(err)
			}
			want := []int{stay, comes}
			slices.Sort(want)
			if diff := cmp.Diff(want, r.carriers()); diff != "" {
				t.Errorf("droplets with the tag in the end: %s", diff)
			}
			for _, d := range r.sim.Droplets() {
				if d.ID == stranger && !slices.Equal(d.Tags, []string{"other"}) {
					t.Errorf("a stranger's droplet has the tags %v", d.Tags)
				}
			}
			seen = r.wire.Changes()
		})
		return seen
	}
	for _, change := range mangle.Chosen(inOrdeal(t, nil)) {
		t.Run(change.String(), func(t *testing.T) { inOrdeal(t, &change) })
	}
}
