package e2e

import (
	"fmt"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/harness"
)

// otherLease lets the manager's account take a second lease, and read that of
// managers in general, as the chart does where the lease has another name.
const otherLease = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "second-manager", namespace: kube-system}
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [second], verbs: [get, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "second-manager", namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "second-manager"}
subjects: [{kind: ServiceAccount, name: cloud-controller-manager, namespace: kube-system}]
`

func TestTwoManagersNoticeEachOther(t *testing.T) {
	metrics := harness.FreeAddress(t)
	e := prepare(t, nil, variable("METRICS_ADDR", metrics))
	if err := sandbox.Apply(e.ctx, e.plane.Config(), []byte(otherLease)); err != nil {
		t.Fatal(err)
	}
	e.startManager()
	e.addNode(simulator.DropletSpec{Name: "w", Tags: []string{"pool:web"}}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	e.addService("web", nil)
	e.balanced("web")
	e.mayWrite(deleteTag) // the mark of the Service, once it is of no use
	// What is written within a minute of its start may be its predecessor's.
	e.never(65*time.Second, "alone, it sees no other", func() error {
		if n := valueOf(e.scrape(metrics), "digitalocean_ccm_other_manager_signs", "kind=write"); n != 0 {
			return fmt.Errorf("%v signs", n)
		}
		return nil
	})

	// The second one labels Nodes by droplet tags, which the first doesn't.
	e.variables["METRICS_ADDR"], e.variables["NODE_LABELS_FROM_TAGS"] = "", "pool:*"
	e.variables["DRIFT_PERIOD"] = "2s"
	e.args = []string{"--leader-elect-resource-name=second"}
	e.startManager()
	e.event(90*time.Second, "second", "AnotherManager", "holds the lease kube-system/cloud-controller-manager", "Stop one of them")
	e.event(120*time.Second, "cloud-controller-manager", "AnotherManager", managerAgent+" wrote ", "which this process didn't", "Stop one of them")
	if n := valueOf(e.scrape(metrics), "digitalocean_ccm_other_manager_signs", "kind=write"); n < 1 {
		t.Errorf("the metric says %v", n)
	}
}
