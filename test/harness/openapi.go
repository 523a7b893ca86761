package harness

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"digitalocean-cloud-controller-manager/internal/openapitest"
	"digitalocean-cloud-controller-manager/simulator"
)

// Conforming serves the simulator and fails the test when the manager asks, or
// is answered, what DigitalOcean's published API description does not allow.
// Without the description it says so.
func Conforming(t *testing.T, sim *simulator.Simulator) http.Handler {
	t.Helper()
	description, err := openapitest.Shared()
	if errors.Is(err, openapitest.ErrAbsent) {
		t.Log("requests are not checked against the API description:", err)
		return sim
	}
	if err != nil {
		t.Fatal(err)
	}
	checker := openapitest.NewChecker(description, func() bool {
		return slices.ContainsFunc(sim.Faults(), func(f simulator.Fault) bool { return f.Count == 0 || f.Hits < f.Count })
	})
	t.Cleanup(func() {
		for _, problem := range checker.Problems() {
			t.Error(problem)
		}
	})
	return checker.Handler(sim)
}
