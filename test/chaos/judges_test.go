package chaos

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	uid  = types.UID("11111111-2222-4333-8444-555555555555")
	lbID = "99999999-2222-4333-8444-555555555555"
)

// served is a world with one Node and one Service, in which all is well.
func served(t *testing.T) *world {
	t.Helper()
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, UID: uid, Annotations: map[string]string{annotation.LoadBalancerID: lbID}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}}},
	}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	w := &world{
		services: []*v1.Service{svc}, seen: map[types.UID]history{uid: {name: "web"}}, born: map[string]types.UID{lbID: uid},
		nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: v1.NodeSpec{ProviderID: "digitalocean://1"}}},
		droplets: map[int]simulator.Droplet{1: {ID: 1, Name: "node", Networks: simulator.Networks{V4: []simulator.NetworkV4{
			{IPAddress: "203.0.113.1", Type: "public"}, {IPAddress: "10.0.0.1", Type: "private"},
		}}}},
	}
	spec, _ := parse(svc)
	desired, problems := loadbalancer.Desire(svc, spec, loadbalancer.Inputs{
		Backends: loadbalancer.SelectBackends(spec, "", w.candidates()), Cluster: loadbalancer.Cluster{ID: clusterID, Region: region},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	request := reconciler.CreateRequest(desired)
	request.Region = "" // an object in answers
	lb, err := convert[godo.LoadBalancer](request)
	if err != nil {
		t.Fatal(err)
	}
	lb.ID, lb.IP, lb.Status, lb.Region = lbID, "192.0.2.1", "active", &godo.Region{Slug: region}
	w.balancers, w.firewalls = []*godo.LoadBalancer{lb}, []*godo.Firewall{openedFor(lb)}
	return w
}

// openedFor is the firewall that lets the load balancer's traffic in.
func openedFor(lb *godo.LoadBalancer) *godo.Firewall {
	all := []string{"0.0.0.0/0", "::/0"}
	fw := &godo.Firewall{
		Name: firewallName, Tags: []string{workerTag},
		InboundRules: []godo.InboundRule{
			{Protocol: "tcp", PortRange: "80", Sources: &godo.Sources{Addresses: all}},
			{Protocol: "tcp", PortRange: "10256", Sources: &godo.Sources{LoadBalancerUIDs: []string{lb.ID}}},
		},
	}
	for _, protocol := range []string{"icmp", "tcp", "udp"} {
		rule := godo.OutboundRule{Protocol: protocol, PortRange: "all", Destinations: &godo.Destinations{Addresses: all}}
		if protocol == "icmp" {
			rule.PortRange = ""
		}
		fw.OutboundRules = append(fw.OutboundRules, rule)
	}
	return fw
}

func TestInvariantsNoticeEveryHarm(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(*world)
		want string
	}{
		"nothing":             {func(*world) {}, ""},
		"no load balancer":    {func(w *world) { w.balancers = nil }, "no load balancer"},
		"another setting":     {func(w *world) { w.balancers[0].SizeUnit = 5 }, "size unit"},
		"a droplet too few":   {func(w *world) { w.balancers[0].DropletIDs = nil }, "droplets"},
		"not active":          {func(w *world) { w.balancers[0].Status = "errored" }, "errored"},
		"another address":     {func(w *world) { w.balancers[0].IP = "192.0.2.2" }, "its status is"},
		"the id isn't noted":  {func(w *world) { delete(w.services[0].Annotations, annotation.LoadBalancerID) }, "it names load balancer"},
		"two load balancers":  {func(w *world) { w.double() }, "it has 2 load balancers"},
		"the Service is gone": {func(w *world) { w.services = nil }, "is gone"},
		"the Service has another type": {func(w *world) {
			w.services[0].Spec.Type = v1.ServiceTypeClusterIP
		}, "is ClusterIP now"},
		"made for nobody":                    {func(w *world) { w.born = nil }, "nobody knows"},
		"the Service lingers":                {func(w *world) { w.services[0].DeletionTimestamp = &metav1.Time{Time: time.Now()} }, "is deleted, and kept by"},
		"no cluster tag":                     {func(w *world) { w.balancers[0].Tags = nil }, "tag is missing"},
		"another's mark":                     {func(w *world) { w.balancers[0].Tags = append(w.balancers[0].Tags, markPrefix+"x") }, "another Service's mark"},
		"the droplet is gone":                {func(w *world) { w.droplets = nil }, "without a droplet"},
		"a Node was murdered":                {func(w *world) { w.murders = []string{"Node x was deleted"} }, "Node x was deleted"},
		"no provider ID":                     {func(w *world) { w.nodes[0].Spec.ProviderID = "" }, "no provider ID"},
		"the tag is too wide":                {func(w *world) { w.aim() }, "the backends' tag is on"},
		"of another network, lists droplets": {func(w *world) { w.narrow() }, ""},
		"of another network, one droplet too few": {func(w *world) {
			w.narrow()
			w.balancers[0].DropletIDs = nil
		}, "droplets"},
		"no firewall":      {func(w *world) { w.firewalls = nil }, "there are 0 firewalls"},
		"two firewalls":    {func(w *world) { w.firewalls = append(w.firewalls, w.firewalls[0]) }, "there are 2 firewalls"},
		"too few openings": {func(w *world) { w.firewalls[0].InboundRules = nil }, "+inbound tcp 80"},
		"too many openings": {func(w *world) {
			w.firewalls[0].InboundRules[0].PortRange = "80-81"
		}, "-inbound tcp 81"},
		"another tag's droplets are open": {func(w *world) { w.firewalls[0].Tags = []string{"all"} }, "tag"},
		"disowned: not judged":            {func(w *world) { w.services[0].Annotations[annotation.Disown], w.balancers[0].SizeUnit = "true", 9 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			test.harm(w)
			all := strings.Join(w.violations(), "\n")
			if test.want == "" && all != "" || !strings.Contains(all, test.want) {
				t.Errorf("found %q, want %q", all, test.want)
			}
		})
	}
}

// double gives the Service a second load balancer.
func (w *world) double() {
	second := *w.balancers[0]
	second.ID = "lb2"
	w.balancers, w.born["lb2"] = append(w.balancers, &second), uid
}

// narrow has the load balancer be of a network that its Service doesn't ask for,
// and list droplets where others target the tag.
func (w *world) narrow() {
	w.targetTag, w.balancers[0].Network = true, annotation.NetworkInternal
	w.firewalls[0].InboundRules = nil // nothing comes from outside
	d := w.droplets[1]
	d.Tags = []string{"k8s-backends:" + clusterID}
	w.droplets[1] = d
}

// aim has the load balancer target a tag that is on a droplet too many.
func (w *world) aim() {
	w.targetTag, w.balancers[0].Tag = true, "k8s-backends:"+clusterID
	w.droplets[2] = simulator.Droplet{ID: 2, Name: "other", Tags: []string{"k8s-backends:" + clusterID}}
}

func TestQuotaAndMisdirectedWritesAreNoticed(t *testing.T) {
	begun := time.Now()
	var requests []simulator.Request
	for i := range perMinute + 1 {
		requests = append(requests, simulator.Request{Time: begun.Add(time.Duration(i) * 100 * time.Millisecond), Method: "GET", Path: "/v2/droplets", Status: 200, Cost: 1})
	}
	if got := busiest(requests, time.Minute); got != perMinute+1 {
		t.Errorf("%d requests within a minute, want %d", got, perMinute+1)
	}
	if got := busiest(requests, time.Second); got != 10 {
		t.Errorf("%d requests within a second, want 10", got)
	}
	if len(overQuota(requests, 1)) == 0 || len(overQuota(requests[:perMinute], 1)) != 0 {
		t.Error("the minute's quota isn't judged")
	}
	born := map[string]types.UID{"ours": uid}
	for path, bad := range map[string]bool{"/v2/load_balancers/ours": false, "/v2/load_balancers/theirs": true, "/v2/droplets/1": true, "/v2/tags/k8s:x/resources": true} {
		if got := misdirected([]simulator.Request{{Method: "DELETE", Path: path}}, born); (len(got) > 0) != bad && path != "/v2/tags/k8s:x/resources" {
			t.Errorf("DELETE %s: %q", path, got)
		}
	}
	theirs := strangers{ids: map[string]bool{"99": true, "lb-theirs": true}}
	for _, r := range []simulator.Request{
		{Method: "PUT", Path: "/v2/load_balancers/lb-theirs"}, {Method: "DELETE", Path: "/v2/tags/strangers"},
		{Method: "POST", Path: "/v2/tags/ours/resources", Body: []byte(`{"resources":[{"resource_id":"99"}]}`)},
	} {
		if !theirs.isMeant(r) {
			t.Errorf("not noticed: %s %s", r.Method, r.Path)
		}
	}
	if theirs.isMeant(simulator.Request{Method: "PUT", Path: "/v2/load_balancers/ours"}) {
		t.Error("ours is taken for theirs")
	}
}

// A Node that somebody else removes is a murder while its droplet lives.
func TestRemovedNodesAreNoticed(t *testing.T) {
	sim := simulator.New()
	lives, gone := sim.AddDroplet(simulator.DropletSpec{Name: "lives"}), sim.AddDroplet(simulator.DropletSpec{Name: "gone"})
	if err := sim.DeleteDroplet(gone.ID); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		node     v1.Node
		expected bool // by the storm itself
		murders  int
	}{
		"its droplet lives":                    {nodeOf("lives", lives.ID), false, 1},
		"by name, as it has no provider ID":    {nodeOf("lives", 0), false, 1},
		"its droplet is gone":                  {nodeOf("gone", gone.ID), false, 0},
		"the storm removes it":                 {nodeOf("lives", lives.ID), true, 0},
		"another droplet of its name replaced": {nodeOf("lives", gone.ID), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &record{storm: &storm{sim: sim}, nodes: map[string]*v1.Node{}, removing: map[string]bool{}}
			r.nodeIs(&test.node)
			if test.expected {
				r.willRemove(&test.node)
			}
			r.nodeGone(&test.node)
			if len(r.murders) != test.murders {
				t.Errorf("murders: %q, want %d", r.murders, test.murders)
			}
		})
	}
}

func nodeOf(name string, droplet int) v1.Node {
	node := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	if droplet != 0 {
		node.Spec.ProviderID = fmt.Sprint("digitalocean://", droplet)
	}
	return node
}

// Also one that is deleted at once is known to have been made by us.
func TestEveryLoadBalancerThatWeMakeIsRecorded(t *testing.T) {
	sim := simulator.New()
	s := &storm{sim: sim}
	s.record = &record{storm: s, born: map[string]types.UID{}}
	handler := s.witnessed(sim)
	do := func(method, path, body string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer any")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	do(http.MethodPost, "/v2/load_balancers", `{"name":"a","region":"nyc3","tags":["`+markPrefix+string(uid)+`"],
		"forwarding_rules":[{"entry_protocol":"tcp","entry_port":80,"target_protocol":"tcp","target_port":80}]}`)
	do(http.MethodDelete, "/v2/load_balancers/"+sim.LoadBalancers()[0].ID, "")
	if bad := misdirected(sim.Requests(), s.record.born); len(bad) > 0 {
		t.Error(bad)
	}
}

func TestGrowthAndRefusalsAreNoticed(t *testing.T) {
	usual, much := float64(maxGoroutines), float64(maxMemory)
	if isTooMuch(usual, much, 1) || !isTooMuch(usual+1, much, 1) || !isTooMuch(usual, much+1, 1) || isTooMuch(usual, 2*much, 2) {
		t.Error("goroutines and memory aren't judged")
	}
	var refused []simulator.Request
	for range refusedPerStart + 1 {
		refused = append(refused, simulator.Request{Status: http.StatusTooManyRequests})
	}
	if len(overQuota(refused, 1)) == 0 || len(overQuota(refused, 2)) != 0 {
		t.Error("refused requests aren't judged")
	}
}
