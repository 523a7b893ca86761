package e2e

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	examplesFolder  = "../../examples"
	exampleSite     = "www-example-com"
	exampleAdmin    = "admin-example-com"
	exampleAddress  = "192.0.2.7"
	exampleClasses  = examplesFolder + "/cloud-config/class.yaml"
	exampleTimeout  = 3 * time.Minute
	regional        = "REGIONAL"
	regionalNetwork = "REGIONAL_NETWORK"

	exampleDriftPeriod = "30s"
)

// account is what the examples need at DigitalOcean beforehand.
type account struct {
	certificate, adminCertificate, subnet, project, balancer string
	droplets                                                 []int
}

// TestExamplesDoWhatTheySay applies every example, all to one cluster.
func TestExamplesDoWhatTheySay(t *testing.T) {
	e := prepare(t, []simulator.Option{simulator.WithLoadBalancerActivation(3 * time.Second)}, withFirewall)
	e.mayWarn("LoadBalancerFirstContact") // of the one that is taken over
	e.mayWrite(updateLB)
	vpc := e.sim.AddVPC(team, "cluster", "nyc3")
	e.variables["DO_CLUSTER_VPC_ID"] = vpc.ID
	e.variables["DRIFT_PERIOD"] = exampleDriftPeriod // after which one is taken over
	config, err := filepath.Abs(exampleClasses)
	if err != nil {
		t.Fatal(err)
	}
	e.args = append(e.args, "--cloud-config="+config)
	e.startManager()
	var has account
	for i, name := range []string{"w1", "w2"} {
		o := sandbox.NodeOptions{Labels: map[string]string{"node-pool": []string{"edge", "inner"}[i]}}
		has.droplets = append(has.droplets, e.addNode(simulator.DropletSpec{Name: name, VPC: vpc.ID, IPv6: true, Tags: []string{"k8s:worker"}}, o).ID)
		e.eventually(30*time.Second, name, e.initialized(name))
	}
	has.certificate = e.sim.AddCertificate(simulator.CertificateSpec{Name: exampleSite, Type: "lets_encrypt", Team: team}).ID
	has.adminCertificate = e.sim.AddCertificate(simulator.CertificateSpec{Name: exampleAdmin, Team: team}).ID
	e.sim.AddBYOIPAddress(team, exampleAddress, "nyc3")
	has.subnet = e.addSubnet(vpc.ID)
	has.project = e.addProject()
	has.balancer = e.addBalancerByHand(vpc.ID, has.droplets)

	files := e.exampleFiles()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(examples)), slices.Sorted(maps.Keys(files))); diff != "" {
		t.Fatalf("the examples and what is expected of them: %s", diff)
	}
	for name, manifest := range files {
		e.addService(name, func(svc *v1.Service) {
			*svc = manifest
			svc.Namespace = "default"
			has.putIn(svc)
		})
	}
	e.allServe()
	for name, want := range examples {
		e.checkExample(name, want, has)
	}
	e.event(20*time.Second, "take-over", "LoadBalancerFirstContact", has.balancer)
	e.checkFirewallOfExamples()
}

func (e *environment) exampleFiles() map[string]v1.Service {
	e.t.Helper()
	paths, err := filepath.Glob(filepath.Join(examplesFolder, "*.yaml"))
	if err != nil {
		e.t.Fatal(err)
	}
	services := map[string]v1.Service{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			e.t.Fatal(err)
		}
		var svc v1.Service
		if err := yaml.UnmarshalStrict(text, &svc); err != nil {
			e.t.Fatalf("%s: %v", path, err)
		}
		services[strings.TrimSuffix(filepath.Base(path), ".yaml")] = svc
	}
	return services
}

// putIn replaces ids that were made up by those of the account.
func (a account) putIn(svc *v1.Service) {
	for key, id := range map[string]string{prefix + "certificate-id": a.certificate, prefix + "subnet-uuid": a.subnet, prefix + "project-id": a.project, idAnnotation: a.balancer} {
		if _, ok := svc.Annotations[key]; ok {
			svc.Annotations[key] = id
		}
	}
}

// addSubnet, addProject and addBalancerByHand make what they are named for as a person would.
func (e *environment) addSubnet(vpc string) string {
	e.t.Helper()
	client := e.client()
	request, err := client.NewRequest(e.ctx, http.MethodPost, "v2/vpcs/"+vpc+"/subnets", map[string]string{"name": "balancers"})
	if err != nil {
		e.t.Fatal(err)
	}
	var answer struct {
		Subnet struct{ ID string } `json:"vpc_subnet"`
	}
	if _, err := client.Do(e.ctx, request, &answer); err != nil {
		e.t.Fatal(err)
	}
	return answer.Subnet.ID
}

func (e *environment) addProject() string {
	e.t.Helper()
	project, _, err := e.client().Projects.Create(e.ctx, &godo.CreateProjectRequest{Name: "shop", Purpose: "Web Application"})
	if err != nil {
		e.t.Fatal(err)
	}
	return project.ID
}

func (e *environment) addBalancerByHand(vpc string, droplets []int) string {
	e.t.Helper()
	lb, _, err := e.client().LoadBalancers.Create(e.ctx, &godo.LoadBalancerRequest{
		Name: "from-elsewhere", Type: regionalNetwork, Region: "nyc3", VPCUUID: vpc, DropletIDs: droplets,
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return lb.ID
}

// allServe waits until every Service that is to have one has a load balancer that
// serves.
func (e *environment) allServe() {
	e.t.Helper()
	e.eventually(exampleTimeout, "all examples", func() error {
		var waiting []string
		for name, want := range examples {
			svc, err := e.service(name)
			if err != nil {
				return err
			}
			lb, err := e.loadBalancer(svc.Annotations[idAnnotation])
			if !want.disowned && (err != nil || lb.Status != "active" || len(svc.Status.LoadBalancer.Ingress) == 0) {
				waiting = append(waiting, fmt.Sprintf("%s (load balancer %q, status %+v, %v)", name, lb.Status, svc.Status.LoadBalancer.Ingress, err))
			}
		}
		if len(waiting) > 0 {
			return fmt.Errorf("not yet %s", strings.Join(waiting, ", "))
		}
		return nil
	})
}

func (e *environment) checkExample(name string, want example, has account) {
	e.t.Helper()
	svc, err := e.service(name)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, warning := range e.warnings(name) {
		if name != "take-over" || !strings.HasPrefix(warning, "LoadBalancerFirstContact: ") {
			e.t.Errorf("%s: warning %s", name, warning)
		}
	}
	var lb simulator.LoadBalancer
	if want.disowned {
		if id := svc.Annotations[idAnnotation]; id != "" || len(svc.Status.LoadBalancer.Ingress) > 0 {
			e.t.Errorf("%s: load balancer %s, status %+v", name, id, svc.Status.LoadBalancer)
		}
	} else {
		lb = e.checkBalancer(svc, want, has)
	}
	if want.check != nil {
		if err := want.check(svc, lb, has); err != nil {
			e.t.Errorf("%s: %v", name, err)
		}
	}
}

// checkBalancer checks what holds for every example that has a load balancer.
func (e *environment) checkBalancer(svc *v1.Service, want example, has account) simulator.LoadBalancer {
	e.t.Helper()
	lb, err := e.loadBalancer(svc.Annotations[idAnnotation])
	if err != nil {
		e.t.Fatal(err)
	}
	if kind := want.kind(); lb.Type != kind {
		e.t.Errorf("%s: its type is %s, want %s", svc.Name, lb.Type, kind)
	}
	if diff := cmp.Diff(want.rules, rulesOf(lb)); diff != "" {
		e.t.Errorf("%s: rules: %s", svc.Name, diff)
	}
	if err := checkTargets(svc, lb); err != nil {
		e.t.Errorf("%s: %v", svc.Name, err)
	}
	droplets := has.droplets
	if want.selects {
		droplets = droplets[:1]
	}
	if !cmp.Equal(sorted(lb.DropletIDs), sorted(droplets)) {
		e.t.Errorf("%s: droplets %v, want %v", svc.Name, lb.DropletIDs, droplets)
	}
	for _, rule := range lb.ForwardingRules {
		if rule.CertificateID != "" && rule.CertificateID != has.certificate && rule.CertificateID != has.adminCertificate {
			e.t.Errorf("%s: certificate %s", svc.Name, rule.CertificateID)
		}
	}
	return lb
}

// rulesOf are a load balancer's rules without the ports of the backends.
func rulesOf(lb simulator.LoadBalancer) []string {
	var rules []string
	for _, r := range lb.ForwardingRules {
		rule := fmt.Sprintf("%s:%d->%s", r.EntryProtocol, r.EntryPort, r.TargetProtocol)
		if r.CertificateID != "" {
			rule += " certificate"
		}
		if r.TLSPassthrough {
			rule += " passthrough"
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	return rules
}

// checkTargets tells of a rule that doesn't lead to the Service's port: to its
// node port, or for a network load balancer to the port itself.
func checkTargets(svc *v1.Service, lb simulator.LoadBalancer) error {
	for _, rule := range lb.ForwardingRules {
		want := rule.EntryPort
		for _, port := range svc.Spec.Ports {
			if lb.Type == regional && int(port.Port) == rule.EntryPort {
				want = int(port.NodePort)
			}
		}
		if rule.TargetPort != want {
			return fmt.Errorf("the rule of port %d leads to %d, want %d", rule.EntryPort, rule.TargetPort, want)
		}
	}
	return nil
}

// checkFirewallOfExamples checks that the firewall opens the port of a Service,
// and not that of the one which says so.
func (e *environment) checkFirewallOfExamples() {
	e.t.Helper()
	e.eventually(30*time.Second, "the firewall opens port 80 and not 9000", func() error {
		fw, err := e.firewall()
		if err != nil {
			return err
		}
		opens := func(port int) bool {
			return slices.ContainsFunc(fw.InboundRules, func(r simulator.InboundRule) bool {
				first, last, isRange := strings.Cut(r.Ports, "-")
				from, _ := strconv.Atoi(first)
				to, _ := strconv.Atoi(last)
				return r.Protocol == "tcp" && (from == port || isRange && from <= port && port <= to)
			})
		}
		if opens(9000) {
			e.t.Fatal("it opens 9000")
		}
		if !opens(80) {
			return errors.New("it doesn't open 80")
		}
		return nil
	})
}
