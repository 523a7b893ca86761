package reconciler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/simulator"
)

// prefix begins load balancers' annotations.
const prefix = "service.beta.kubernetes.io/do-loadbalancer-"

// webService has the ports 80 and 443.
func webService(annotations map[string]string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", Annotations: annotations},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Name: "http", Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}, {Name: "https", Port: 443, NodePort: 30443, Protocol: v1.ProtocolTCP},
		}},
	}
}

func desiredOf(t *testing.T, svc *v1.Service, in loadbalancer.Inputs) loadbalancer.Desired {
	t.Helper()
	spec, problems := annotation.Parse(svc, annotation.Defaults{Type: annotation.TypeRegionalNetwork})
	desired, more := loadbalancer.Desire(svc, spec, in)
	if problems = append(problems, more...); len(problems) > 0 {
		t.Fatalf("%v of %v", problems, svc.Annotations)
	}
	return desired
}

// world is a simulator and what Services can refer to in it.
type world struct {
	sim         *simulator.Simulator
	client      *godo.Client
	cluster     loadbalancer.Cluster
	subnet      string
	project     string
	certificate simulator.Certificate
	candidates  []loadbalancer.Candidate
}

const ownAddress = "203.0.113.200"

func newWorld(t *testing.T, random *rand.Rand) *world {
	w := &world{sim: simulator.New(simulator.WithResizeInterval(0))}
	w.client = clientOf(t, w.sim)
	w.certificate = w.sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
	w.sim.AddBYOIPAddress("", ownAddress, "nyc3")
	w.project = addProject(t, w.client, "other")
	w.cluster = loadbalancer.Cluster{ID: "c1", Region: "nyc3"}
	if coin(random) {
		w.cluster.VPC = w.sim.AddVPC("", "cluster", "nyc3").ID
		w.subnet = addSubnet(t, w.client, w.cluster.VPC)
	}
	for i := range 1 + random.IntN(4) {
		ipv6 := coin(random)
		d := w.sim.AddDroplet(simulator.DropletSpec{Name: fmt.Sprintf("node-%d", i), VPC: w.cluster.VPC, IPv6: ipv6})
		w.candidates = append(w.candidates, loadbalancer.Candidate{Node: d.Name, DropletID: d.ID, PublicIPv4: true, PublicIPv6: ipv6})
	}
	return w
}

func addProject(t *testing.T, client *godo.Client, name string) string {
	t.Helper()
	project, _, err := client.Projects.Create(t.Context(), &godo.CreateProjectRequest{Name: name, Purpose: "Web Application"})
	if err != nil {
		t.Fatal(err)
	}
	return project.ID
}

// addSubnet makes a subnet, for which the client library has no call.
func addSubnet(t *testing.T, client *godo.Client, vpc string) string {
	t.Helper()
	request, err := client.NewRequest(t.Context(), "POST", "/v2/vpcs/"+vpc+"/subnets", map[string]string{"name": "part"})
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Subnet struct{ ID string } `json:"vpc_subnet"`
	}
	if _, err := client.Do(t.Context(), request, &made); err != nil {
		t.Fatal(err)
	}
	return made.Subnet.ID
}

// desired is what the Service wants of a load balancer that exists with the
// network stack, or with "" of one that is yet to be made.
func (w *world) desired(t *testing.T, svc *v1.Service, stack string) loadbalancer.Desired {
	t.Helper()
	spec, _ := annotation.Parse(svc, annotation.Defaults{Type: annotation.TypeRegionalNetwork})
	in := loadbalancer.Inputs{Backends: loadbalancer.SelectBackends(spec, stack, w.candidates), Cluster: w.cluster}
	if spec.CertificateID != "" || spec.CertificateName != "" {
		in.CertificateID = w.certificate.ID
	}
	return desiredOf(t, svc, in)
}

// Whatever a Service asks for is read back from the API as it was asked for,
// after it was created and after it was changed from something else.
func TestWhatIsAppliedIsNoDifference(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, random)
		first := randomService(random, w)
		desired := w.desired(t, first, "")
		made, _, err := w.client.LoadBalancers.Create(ctx, createRequest(desired))
		if err != nil {
			t.Fatalf("seed %d: create for %v: %v", seed, first.Annotations, err)
		}
		lb := w.agrees(t, seed, made.ID, desired)
		edit := func(lb *simulator.LoadBalancer) { lb.TLSCipherPolicy, lb.ProjectID = "STRONG", w.project }
		if err := w.sim.EditLoadBalancer(lb.ID, edit); err != nil {
			t.Fatal(err)
		}
		second := randomService(random, w)
		keepImmutable(first, second)
		if lb, _, err = w.client.LoadBalancers.Get(ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		desired = w.desired(t, second, lb.NetworkStack)
		if _, _, err := w.client.LoadBalancers.Update(ctx, made.ID, updateRequest(lb, desired)); err != nil {
			t.Fatalf("seed %d: change from %v to %v: %v", seed, first.Annotations, second.Annotations, err)
		}
		lb = w.agrees(t, seed, made.ID, desired)
		if desired.TLSCipherPolicy == "" && lb.TLSCipherPolicy != "STRONG" || lb.ProjectID != w.project {
			t.Errorf("seed %d: the TLS policy that someone set is %s, the project %s", seed, lb.TLSCipherPolicy, lb.ProjectID)
		}
	}
}

func (w *world) agrees(t *testing.T, seed uint64, id string, desired loadbalancer.Desired) *godo.LoadBalancer {
	t.Helper()
	lb, _, err := w.client.LoadBalancers.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if changes := loadbalancer.Diff(desired.Settings, settingsOf(lb)); len(changes) > 0 {
		t.Fatalf("seed %d: %s", seed, loadbalancer.Describe(changes))
	}
	return lb
}

// keepImmutable gives a Service what another one fixed at creation.
func keepImmutable(from, to *v1.Service) {
	for _, key := range []string{annotation.Type, annotation.Network, prefix + "network-stack", prefix + "ip", prefix + "subnet-uuid"} {
		delete(to.Annotations, key)
		if value, ok := from.Annotations[key]; ok {
			to.Annotations[key] = value
		}
	}
}

func coin(random *rand.Rand) bool { return random.IntN(2) == 0 }

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// randomService is a valid Service of ports and annotations that go together.
// What concerns one type alone is set for both, as it must do no harm.
func randomService(random *rand.Rand, w *world) *v1.Service {
	g := generator{random, map[string]string{}, w}
	svc := webService(g.annotations)
	svc.Spec.Ports = g.ports()
	g.place()
	g.protocols(svc)
	g.health(svc)
	g.rest(svc)
	return svc
}

type generator struct {
	*rand.Rand
	annotations map[string]string
	*world
}

func (g *generator) set(name string, values ...string) {
	if coin(g.Rand) {
		g.annotations[prefix+name] = pick(g.Rand, values...)
	}
}

// ports are some of TCP, the first of it, and some of UDP.
func (g *generator) ports() []v1.ServicePort {
	var ports []v1.ServicePort
	for i, number := range g.Perm(8)[:1+g.IntN(6)] {
		port := v1.ServicePort{Name: fmt.Sprint("p", i), Protocol: v1.ProtocolTCP, Port: []int32{22, 53, 80, 443, 8080, 8443, 9443, 65535}[number], NodePort: int32(30000 + 2*i)}
		ports = append(ports, port)
		if g.IntN(4) == 0 {
			port.Name, port.Protocol, port.NodePort = port.Name+"u", v1.ProtocolUDP, port.NodePort+1
			ports = append(ports, port)
		}
	}
	return ports
}

// place is what can't be changed.
func (g *generator) place() {
	g.set("type", "REGIONAL", "REGIONAL_NETWORK")
	g.set("network", "INTERNAL", "EXTERNAL")
	if g.annotations[annotation.Network] == annotation.NetworkInternal {
		g.set("network-stack", "IPV4")
	} else {
		g.set("ip", ownAddress)
		if g.annotations[annotation.Type] == annotation.TypeRegional {
			g.set("network-stack", "IPV4", "DUALSTACK")
		}
	}
	if g.cluster.VPC != "" {
		g.set("subnet-uuid", g.subnet)
	}
}

// protocols deals the TCP ports to the lists, and makes sure that TLS has what
// it needs.
func (g *generator) protocols(svc *v1.Service) {
	tls := pick(g.Rand, "", annotation.CertificateID, annotation.CertificateName, prefix+"tls-passthrough")
	standard := []string{"tcp", "http"}
	lists := []string{"http-ports", ""}
	if tls != "" {
		g.annotations[tls] = map[string]string{annotation.CertificateID: g.certificate.ID, annotation.CertificateName: g.certificate.Name}[tls]
		if g.annotations[tls] == "" {
			g.annotations[tls] = "true"
		}
		standard = append(standard, "https", "http2")
		lists = append(lists, "tls-ports", "http2-ports")
	}
	g.set("protocol", standard...)
	dealt := map[string][]string{}
	for _, port := range svc.Spec.Ports {
		if list := pick(g.Rand, lists...); list != "" && port.Protocol == v1.ProtocolTCP {
			dealt[list] = append(dealt[list], fmt.Sprint(port.Port))
		}
	}
	if len(dealt["tls-ports"]) == 0 {
		// 443 speaks TLS then, unless it is HTTP/2.
		dealt["http-ports"] = slices.DeleteFunc(dealt["http-ports"], func(port string) bool { return port == "443" })
	}
	for list, ports := range dealt {
		if len(ports) > 0 {
			g.annotations[prefix+list] = strings.Join(ports, pick(g.Rand, ",", ", "))
		}
	}
	for _, port := range slices.Concat(dealt["tls-ports"], dealt["http2-ports"]) {
		onUDP := slices.ContainsFunc(svc.Spec.Ports, func(p v1.ServicePort) bool {
			return p.Protocol == v1.ProtocolUDP && fmt.Sprint(p.Port) == port
		})
		if tls != prefix+"tls-passthrough" && !onUDP {
			g.set("http3-port", port)
			break
		}
	}
	if len(dealt["http-ports"]) > 0 && len(dealt["tls-ports"]) > 0 {
		g.set("redirect-http-to-https", "true", "false")
	}
}

func (g *generator) health(svc *v1.Service) {
	g.set("override-health-check", "", "true", "false")
	g.set("healthcheck-port", fmt.Sprint(svc.Spec.Ports[0].Port))
	if coin(g.Rand) {
		g.set("healthcheck-protocol", "http", "https", "tcp")
	}
	if g.annotations[prefix+"healthcheck-protocol"] != "tcp" {
		g.set("healthcheck-path", "/", "/ping?x=y")
	}
	g.set("healthcheck-check-interval-seconds", "3", "300")
	g.set("healthcheck-response-timeout-seconds", "3", "300")
	g.set("healthcheck-unhealthy-threshold", "2", "10")
	g.set("healthcheck-healthy-threshold", "2", "10")
	if coin(g.Rand) {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	}
}

func (g *generator) rest(svc *v1.Service) {
	g.set("name", "web-1", "a.b.")
	if coin(g.Rand) {
		g.set("size-unit", "1", "2", "200")
	} else {
		g.set("size-slug", "lb-small", "lb-medium", "lb-large")
	}
	if coin(g.Rand) {
		g.annotations[prefix+"sticky-sessions-type"] = "cookies"
		g.annotations[prefix+"sticky-sessions-cookie-name"] = "LB"
		g.annotations[prefix+"sticky-sessions-cookie-ttl"] = "300"
	}
	g.set("enable-proxy-protocol", "true", "false", "")
	g.set("enable-backend-keepalive", "true", "false", "")
	g.set("disable-lets-encrypt-dns-records", "true", "false", "")
	g.set("tls-cipher-policy", "DEFAULT", "STRONG", "")
	g.set("project-id", g.project)
	g.set("http-idle-timeout-seconds", "30", "60", "600")
	g.set("allow-rules", "ip:192.0.2.1", "cidr:192.0.2.1/32, ip:198.51.100.1", "cidr:10.0.0.0/8")
	g.set("deny-rules", "ip:192.0.2.9", "cidr:192.0.2.0/24,cidr:192.0.2.0/24")
	g.set("hostname", "web.example.com")
	if coin(g.Rand) {
		svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.77/24", "198.51.100.7/32", "198.51.100.7/32"}
	}
}
