package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// ccmctl runs the program as an administrator with the manager's settings, and
// checks that it changed nothing. in is its standard input.
func (e *environment) ccmctl(in string, args ...string) (output string, code int) {
	e.t.Helper()
	kubeconfig := filepath.Join(e.t.TempDir(), "admin")
	if err := os.WriteFile(kubeconfig, e.plane.Kubeconfig(), 0o600); err != nil {
		e.t.Fatal(err)
	}
	before, writes := e.versions(), len(e.writes())
	command := exec.CommandContext(e.ctx, programs.CCMCtl, append(args, "--kubeconfig", kubeconfig)...)
	command.Env, command.Stdin = e.env(), strings.NewReader(in)
	text, err := command.CombinedOutput()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		e.t.Fatal(err)
	}
	if diff := cmp.Diff(before, e.versions()); diff != "" {
		e.t.Errorf("ccmctl %v changed the cluster:\n%s", args, diff)
	}
	if more := e.writes()[writes:]; len(more) > 0 {
		e.t.Errorf("ccmctl %v wrote to DigitalOcean: %v", args, more)
	}
	if strings.Contains(string(text), token) {
		e.t.Errorf("ccmctl %v shows the token", args)
	}
	return string(text), command.ProcessState.ExitCode()
}

// versions are those of the Services, which change with each write.
func (e *environment) versions() map[string]string {
	e.t.Helper()
	all, err := e.kube.CoreV1().Services(metav1.NamespaceAll).List(e.ctx, metav1.ListOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	versions := map[string]string{}
	for _, svc := range all.Items {
		versions[svc.Namespace+"/"+svc.Name] = svc.ResourceVersion
	}
	return versions
}

// says checks a program's output.
func (e *environment) says(output string, code, want int, parts ...string) {
	e.t.Helper()
	if !containsAll(output, parts) || code != want {
		e.t.Errorf("it ended with %d, want %d, and must say %q:\n%s", code, want, parts, output)
	}
}

func TestAPlanIsWhatTheManagerThenDoes(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithResizeInterval(0)})
	e.mayWrite(updateLB)
	e.addService("web", annotated("type", "REGIONAL"))
	_, lb := e.balanced("web")
	// The status and annotations come after the load balancer.
	var output string
	e.eventually(30*time.Second, "nothing is to be done", func() error {
		var code int
		if output, code = e.ccmctl("", "plan", "default/web", "--detailed-exitcode"); code != 0 {
			return fmt.Errorf("code %d:\n%s", code, output)
		}
		return nil
	})
	e.says(output, 0, 0, "is as the Service wants it", "No changes.")

	manifest := `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "annotations": {"service.beta.kubernetes.io/do-loadbalancer-size-unit": "2"}}}`
	output, code := e.ccmctl(manifest, "plan", "-f", "-", "--detailed-exitcode")
	e.says(output, code, 2, "default/web: load balancer", "will be changed in place\n  ~ size unit: 1 -> 2\n", "Plan: 0 to create, 1 to change, 0 to destroy.")
	output, code = e.ccmctl(strings.Replace(manifest, `"2"`, `"many"`, 1), "plan", "-f", "-", "--detailed-exitcode")
	e.says(output, code, 1, "default/web: refused", `"many" is not valid`)

	e.patchService("web", manifest)
	e.becomes(lb.ID, "larger", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 2 })
	output, code = e.ccmctl("", "plan", "default/web", "--detailed-exitcode")
	e.says(output, code, 0, "No changes.")
}

func TestAdoptTellsTheFirstStartAndDoctorWhatIsWrong(t *testing.T) {
	e := prepare(t, nil)
	e.mayWarn("NoEligibleBackends") // the Service is there before the Node is initialised
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.addService("web", nil)
	output, code := e.ccmctl("", "adopt")
	e.says(output, code, 0, "default/web: a load balancer will be created", "Plan: 1 to create")
	output, code = e.ccmctl("", "doctor")
	e.says(output, code, 1, "No manager holds the lease", "cure: Start the manager")

	e.startManager()
	e.balanced("web")
	e.eventually(60*time.Second, "nothing is wrong any more", func() error {
		if output, code = e.ccmctl("", "doctor"); code != 0 {
			return errors.New(output)
		}
		return nil
	})
	// No Pods run in these tests.
	e.says(output, code, 0, "Service default/web: Its selector app=web matches no Pod")
	e.endpoint("web")
	output, code = e.ccmctl("", "doctor")
	e.says(output, code, 0, "Nothing was found")
	output, code = e.ccmctl("", "adopt")
	e.says(output, code, 0, "default/web: load balancer", "No changes.")
	output, code = e.ccmctl("", "orphans")
	e.says(output, code, 0, "No load balancer of this cluster is without a Service.")
}

// endpoint has one Pod answer for a Service, as far as Kubernetes' API tells.
func (e *environment) endpoint(service string) {
	e.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.1.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
	}
	if _, err := e.kube.DiscoveryV1().EndpointSlices("default").Create(e.ctx, slice, metav1.CreateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}
