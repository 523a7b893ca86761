package reconciler

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/golden"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

const goldenFolder = "../testdata/golden"

// Each folder shows what becomes of a Service:
//
//	before.yaml   the Service as it was, if it had a load balancer
//	service.yaml  the Service
//	nodes.yaml    the cluster's Nodes and their droplets
//	request.json  what is sent to DigitalOcean; null: nothing
//	plan.txt      what is done, or changed
//	events.txt    what the user is told
func TestGolden(t *testing.T) {
	folders, err := os.ReadDir(goldenFolder)
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) == 0 {
		t.Fatal("no cases")
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			c := readCase(t, filepath.Join(goldenFolder, folder.Name()))
			c.run(t)
			c.check(t)
		})
	}
}

type goldenCase struct {
	folder          string
	before, service *v1.Service
	nodes           []loadbalancer.Candidate

	request *godo.LoadBalancerRequest
	plan    string
	events  []string
}

func readCase(t *testing.T, folder string) *goldenCase {
	t.Helper()
	c := &goldenCase{folder: folder, service: &v1.Service{}}
	readYAML(t, filepath.Join(folder, "service.yaml"), c.service)
	var nodes []struct {
		Node       string `json:"node"`
		DropletID  int    `json:"dropletID"`
		PublicIPv4 bool   `json:"publicIPv4"`
		PublicIPv6 bool   `json:"publicIPv6"`
		Excluded   string `json:"excluded"`

		Labels  map[string]string `json:"labels"`
		Public  []string          `json:"public"`
		Private []string          `json:"private"`
	}
	readYAML(t, filepath.Join(folder, "nodes.yaml"), &nodes)
	for _, n := range nodes {
		c.nodes = append(c.nodes, loadbalancer.Candidate{
			Node: n.Node, DropletID: n.DropletID, PublicIPv4: n.PublicIPv4, PublicIPv6: n.PublicIPv6, Excluded: n.Excluded,
			Labels: n.Labels, Public: n.Public, Private: n.Private,
		})
	}
	before := filepath.Join(folder, "before.yaml")
	if _, err := os.Stat(before); !errors.Is(err, fs.ErrNotExist) {
		c.before = &v1.Service{}
		readYAML(t, before, c.before)
	}
	return c
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func (c *goldenCase) tell(reason events.Reason, text string) {
	c.events = append(c.events, fmt.Sprintf("%s: %s", reason, text))
}

// run does what a sync does, up to the API.
func (c *goldenCase) run(t *testing.T) {
	var lb *godo.LoadBalancer
	if c.before != nil {
		desired, _, problems := c.decide(c.before, nil)
		if len(problems) > 0 {
			t.Fatalf("before: %v", problems)
		}
		lb = madeOf(t, createRequest(desired))
	}
	spec, _ := annotation.Parse(c.service, defaultsOfGolden)
	for _, warning := range annotation.Warnings(c.service, spec) {
		c.tell(events.AnnotationWarning, warning.String())
	}
	if spec.Disowned {
		c.plan = "nothing, as the Service is disowned"
		return
	}
	desired, backends, problems := c.decide(c.service, lb)
	for _, problem := range problems {
		c.tell(events.LoadBalancerConfigError, problem.String())
	}
	for _, why := range []string{backends.Explain(), backends.ExplainStack()} {
		if why != "" {
			c.tell(events.NoEligibleBackends, why)
		}
	}
	switch {
	case len(problems) > 0:
		c.plan = "nothing, until the Service is mended"
	case spec.DryRun:
		c.plan = "nothing, as it is a dry run:\n" + strings.Join(loadbalancer.PlanCreate(desired), "\n")
	case lb == nil:
		c.plan = "create"
		c.request = createRequest(desired)
	default:
		c.change(lb, desired)
	}
}

func (c *goldenCase) change(lb *godo.LoadBalancer, desired loadbalancer.Desired) {
	changes := loadbalancer.Diff(desired.Settings, settingsOf(lb))
	if immutable := loadbalancer.Of(loadbalancer.ChangeImmutable, changes); len(immutable) > 0 {
		c.tell(events.LoadBalancerImmutable, loadbalancer.Describe(immutable))
	}
	settings, droplets := loadbalancer.Of(loadbalancer.ChangeSettings, changes), loadbalancer.Of(loadbalancer.ChangeDroplets, changes)
	if len(settings) > 0 {
		c.request = updateRequest(lb, desired)
	}
	var lines []string
	for _, change := range append(settings, droplets...) {
		lines = append(lines, change.String())
	}
	if c.plan = strings.Join(lines, "\n"); c.plan == "" {
		c.plan = "nothing"
	}
}

// idOfGolden is the id of every load balancer that exists.
const idOfGolden = "6b0f1c52-0e0b-4c7e-9a57-3a1f6d1f0c3e"

var defaultsOfGolden = annotation.Defaults{Type: annotation.TypeRegionalNetwork}

// certificatesOfGolden are those of the account, by name.
var certificatesOfGolden = map[string]string{
	"example-cert": "892071a0-bb95-49bc-8021-3afd67a210bf",
	"renewed-cert": "c0d6b1a8-3f4e-4b57-8f0e-3f1f5f6f7a8b",
}

func (c *goldenCase) decide(svc *v1.Service, lb *godo.LoadBalancer) (loadbalancer.Desired, loadbalancer.Backends, []annotation.Problem) {
	spec, problems := annotation.Parse(svc, defaultsOfGolden)
	stack := ""
	if lb != nil {
		stack = settingsOf(lb).NetworkStack
	}
	backends := loadbalancer.SelectBackends(spec, stack, c.nodes)
	in := loadbalancer.Inputs{
		Backends: backends, CertificateID: spec.CertificateID, PortCertificateIDs: map[int]string{},
		Cluster: loadbalancer.Cluster{ID: "5c9d2f3e", Region: "nyc3", VPC: "9b6a2f1e-6c1d-4a53-8f0e-1d2c3b4a5968"},
	}
	if in.CertificateID == "" {
		in.CertificateID = certificatesOfGolden[spec.CertificateName]
	}
	for port, named := range spec.PortCertificates {
		in.PortCertificateIDs[port] = cmp.Or(named.ID, certificatesOfGolden[named.Name])
	}
	desired, more := loadbalancer.Desire(svc, spec, in)
	if lb != nil && isMarkedStrong(&work{svc: svc, spec: spec}, lb) {
		desired.TLSCipherPolicy = annotation.CiphersDefault
	}
	if lb != nil && len(lb.DropletIDs) > 0 {
		more = append(more, backends.SelectorProblem(spec)...)
	}
	return desired, backends, append(problems, more...)
}

// madeOf is the load balancer that a request makes, as the API shows it: with
// an id, and the region as an object.
func madeOf(t *testing.T, r *godo.LoadBalancerRequest) *godo.LoadBalancer {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	members["id"] = idOfGolden
	members["region"] = map[string]any{"slug": r.Region}
	if data, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	lb := &godo.LoadBalancer{}
	if err := json.Unmarshal(data, lb); err != nil {
		t.Fatal(err)
	}
	return lb
}

// check compares what came of it with the folder.
func (c *goldenCase) check(t *testing.T) {
	request, err := json.MarshalIndent(c.request, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(c.events, "\n")
	if told == "" {
		told = "none"
	}
	for name, made := range map[string]string{"request.json": string(request), "plan.txt": c.plan, "events.txt": told} {
		golden.Check(t, filepath.Join(c.folder, name), made+"\n")
	}
}
