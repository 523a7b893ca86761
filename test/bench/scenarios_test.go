package bench

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	hourQuota, minuteQuota = 5000, 250
	// periodScale scales the steady hour: with the periods that can be set a
	// tenth of their defaults, steadyWindow stands for ten minutes.
	periodScale  = 10
	steadyWindow = time.Minute
	// settleTime is how long a scenario goes on once it has converged, for what
	// the manager still does of it.
	settleTime = 3 * time.Second
	// scenarioTimeout bounds the wait for one scenario: 1,000 updates take four
	// minutes of the quota.
	scenarioTimeout = 15 * time.Minute
	driftTimeout    = 3 * time.Minute

	interval          = "service.beta.kubernetes.io/do-loadbalancer-healthcheck-check-interval-seconds"
	annotatedInterval = 7
)

// Scenarios of which more is expected than a recorded number.
const (
	annotatedAll = "one annotation changed on all"
	oneJoins     = "one Node joins"
	restarted    = "manager restarted"
	steady       = "steady"
	drifted      = "drift on 10 %"
)

// scenario is something that happens to a cluster.
type scenario struct {
	name string
	// prepare is not measured; it may be nil.
	prepare func(*stand)
	act     func(*stand)
	// converged tells why it has not yet; nil: the scenario lasts for window.
	converged func(*stand) error
	window    time.Duration
	timeout   time.Duration
	// byLast has it end with the last call.
	byLast bool
	// slow ones are left out with -short.
	slow bool
}

// scenarios build on each other.
var scenarios = []scenario{
	{name: "initialise all Nodes", prepare: (*stand).addInitialNodes, act: func(s *stand) { s.start(nil, nil) }, converged: (*stand).initialized},
	{name: "all Services created", act: (*stand).createServices, converged: (*stand).served},
	{name: annotatedAll, act: (*stand).annotateServices, converged: (*stand).annotated},
	{name: oneJoins, act: func(s *stand) { s.addNodes(1) }, converged: (*stand).balancesAll},
	{name: "50 Nodes join", act: func(s *stand) { s.addNodes(50) }, converged: (*stand).balancesAll},
	{name: "100 Nodes replaced", act: (*stand).replaceNodes, converged: (*stand).balancesAll},
	{name: restarted, act: func(s *stand) { s.start(nil, nil) }, converged: (*stand).quiet, byLast: true},
	{name: steady, prepare: (*stand).scalePeriods, act: func(*stand) {}, window: steadyWindow, slow: true},
	{name: drifted, act: (*stand).changeByHand, converged: (*stand).annotated, timeout: driftTimeout, slow: true},
}

func (s *stand) addInitialNodes() { s.addNodes(s.cell.nodes) }

// addNodes makes droplets and registers their Nodes, as kubelets do.
func (s *stand) addNodes(n int) {
	s.t.Helper()
	var group errgroup.Group
	group.SetLimit(20)
	for range n {
		name := fmt.Sprint("node-", s.made)
		s.made++
		droplet := s.sim.AddDroplet(simulator.DropletSpec{Team: "bench", Name: name, CreatedAt: time.Now().Add(-time.Minute)})
		s.droplets[name] = droplet.ID
		group.Go(func() error {
			_, err := sandbox.RegisterNode(s.ctx, s.kube, sandbox.NewNode(name, sandbox.NodeOptions{}))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

// replaceNodes replaces 100 Nodes, or all where there are fewer, in ten steps:
// new ones come, and when they are initialised as many old ones go, as a cluster
// autoscaler removes them.
func (s *stand) replaceNodes() {
	s.t.Helper()
	all := min(100, s.cell.nodes)
	step := max(1, all/10)
	for begin := 0; begin < all; begin += step {
		s.addNodes(step)
		s.await(scenarioTimeout, (*stand).initialized)
		for i := begin; i < begin+step; i++ {
			name := fmt.Sprint("node-", i)
			if err := s.kube.CoreV1().Nodes().Delete(s.ctx, name, metav1.DeleteOptions{}); err != nil {
				s.t.Fatal(err)
			}
			if err := s.sim.DeleteDroplet(s.droplets[name]); err != nil {
				s.t.Fatal(err)
			}
			delete(s.droplets, name)
		}
	}
}

func (s *stand) initialized() error {
	// From the API server's cache: a whole list of 5,000 is work for it.
	nodes, err := s.kube.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	done := 0
	for _, node := range nodes.Items {
		// Others' taints stay: nobody tells here that Nodes are ready.
		tainted := slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
		if node.Spec.ProviderID != "" && len(node.Status.Addresses) > 2 && !tainted {
			done++
		}
	}
	if done < len(s.droplets) {
		return fmt.Errorf("%d Nodes of %d are initialised", done, len(s.droplets))
	}
	return nil
}

func (s *stand) eachService(do func(name string) error) {
	s.t.Helper()
	var group errgroup.Group
	group.SetLimit(20)
	for i := range s.cell.services {
		group.Go(func() error { return do(fmt.Sprint("web-", i)) })
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) createServices() {
	s.eachService(func(name string) error {
		svc := newService(0)
		svc.Name = name
		_, err := s.kube.CoreV1().Services(svc.Namespace).Create(s.ctx, svc, metav1.CreateOptions{})
		return err
	})
}

func (s *stand) annotateServices() {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, interval, annotatedInterval)
	s.eachService(func(name string) error {
		_, err := s.kube.CoreV1().Services(metav1.NamespaceDefault).Patch(s.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// served tells whether all Services show an address and reach all Nodes.
func (s *stand) served() error {
	if err := s.balancesAll(); err != nil {
		return err
	}
	services, err := s.kube.CoreV1().Services(metav1.NamespaceDefault).List(s.ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	shown := 0
	for _, svc := range services.Items {
		if svc.Spec.Type == v1.ServiceTypeLoadBalancer && len(svc.Status.LoadBalancer.Ingress) > 0 {
			shown++
		}
	}
	if shown < s.cell.services {
		return fmt.Errorf("%d Services of %d show an address", shown, s.cell.services)
	}
	return nil
}

// balancesAll tells whether the backends of all load balancers are exactly the
// droplets of the Nodes.
func (s *stand) balancesAll() error {
	wanted := make(map[int]bool, len(s.droplets))
	for _, id := range s.droplets {
		wanted[id] = true
	}
	return s.eachBalancer(func(lb simulator.LoadBalancer) bool {
		for _, id := range lb.DropletIDs {
			if !wanted[id] {
				return false
			}
		}
		return len(lb.DropletIDs) == len(wanted)
	})
}

func (s *stand) annotated() error {
	return s.eachBalancer(func(lb simulator.LoadBalancer) bool {
		return lb.HealthCheck.CheckIntervalSeconds == annotatedInterval
	})
}

func (s *stand) eachBalancer(is func(simulator.LoadBalancer) bool) error {
	good := 0
	for _, lb := range s.sim.LoadBalancers() {
		if is(lb) {
			good++
		}
	}
	if good != s.cell.services {
		return fmt.Errorf("%d load balancers of %d are as they should be", good, s.cell.services)
	}
	return nil
}

// quiet tells whether the manager has worked, and asked nothing for a while.
func (s *stand) quiet() error {
	requests := s.sim.Requests()
	if len(requests) == 0 || time.Since(requests[len(requests)-1].Time) < 2*settleTime {
		return fmt.Errorf("it is busy after %d calls", len(requests))
	}
	return nil
}

// scalePeriods has what is done once a period done ten times as often.
func (s *stand) scalePeriods() {
	s.start([]string{"DRIFT_PERIOD=30s"}, []string{"--node-status-update-frequency=30s"})
	s.pause(settleTime)
	s.await(scenarioTimeout, func(s *stand) error {
		if s.lastMinute() == 0 {
			return fmt.Errorf("it has not begun")
		}
		return nil
	})
	s.pause(40 * time.Second) // for its first look at everything
}

// changeByHand changes a tenth of the load balancers as in DigitalOcean's
// console, one at least.
func (s *stand) changeByHand() {
	for i, lb := range s.sim.LoadBalancers() {
		if i >= max(1, s.cell.services/10) {
			break
		}
		if err := s.sim.EditLoadBalancer(lb.ID, func(lb *simulator.LoadBalancer) { lb.HealthCheck.CheckIntervalSeconds = 30 }); err != nil {
			s.t.Fatal(err)
		}
	}
}
