package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/internal/sandbox"
)

const (
	root      = "../.."
	chartName = "digitalocean-cloud-controller-manager"
	chartPath = root + "/deploy/charts/" + chartName
	namespace = "kube-system"
)

// object is one that was rendered.
type object = unstructured.Unstructured

// isNotSecret leaves Secrets.
func isNotSecret(o *object) bool { return o.GetKind() != "Secret" }

// helmBinary is built once, and kept in Go's build cache.
var helmBinary = sync.OnceValues(func() (string, error) {
	command := exec.Command("go", "tool", "-modfile=hack/tools/go.mod", "-n", "helm")
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	path, err := command.Output()
	if err != nil {
		return "", errors.New("build helm: " + err.Error() + ": " + stderr.String())
	}
	return strings.TrimSpace(string(path)), nil
})

// helm runs helm with settings of its own, apart from the user's.
func helm(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	binary, err := helmBinary()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String(), errors.New(err.Error() + ": " + problems.String() + out.String())
	}
	return out.String(), nil
}

func mustHelm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := helm(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// template renders the chart with values, which are YAML.
func template(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	return helm(t, append([]string{"template", chartName, chartPath, "--namespace", namespace, "--values", valuesFile(t, values)}, args...)...)
}

// render is template and decode for values that are valid.
func render(t *testing.T, values string, args ...string) []*object {
	t.Helper()
	manifest, err := template(t, values, args...)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, manifest)
}

func valuesFile(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func decode(t *testing.T, manifest string) []*object {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	var objects []*object
	for {
		o := &object{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// find returns the only object of a kind and name.
func find(t *testing.T, objects []*object, kind, name string) *object {
	t.Helper()
	var found []*object
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects %s %s, want one", len(found), kind, name)
	}
	return found[0]
}

// as is find in the object's own type, strictly.
func as[T any](t *testing.T, objects []*object, kind, name string) *T {
	t.Helper()
	text, err := json.Marshal(find(t, objects, kind, name).Object)
	if err != nil {
		t.Fatal(err)
	}
	typed := new(T)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(typed); err != nil {
		t.Fatalf("%s %s: %v", kind, name, err)
	}
	return typed
}

// cluster is a control plane for all tests of the package that only look.
type cluster struct {
	plane      *sandbox.ControlPlane
	kubectl    string
	kubeconfig string
}

var shared struct {
	once sync.Once
	cluster
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.plane != nil {
		if err := shared.plane.Stop(); err != nil {
			code = 1
		}
		_ = os.Remove(shared.kubeconfig)
	}
	os.Exit(code)
}

func startCluster(t *testing.T) cluster {
	t.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = newCluster() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func newCluster() (cluster, error) {
	assets, err := controlplane.Ensure(context.Background(), controlplane.Options{Progress: os.Stderr})
	if err != nil {
		return cluster{}, err
	}
	plane, err := sandbox.StartControlPlane(context.Background(), assets, sandbox.ControlPlaneOptions{})
	if err != nil {
		return cluster{}, err
	}
	c := cluster{plane: plane, kubectl: assets.Kubectl}
	file, err := os.CreateTemp("", "kubeconfig-")
	if err != nil {
		return c, err
	}
	c.kubeconfig = file.Name()
	_, err = file.Write(plane.Kubeconfig())
	return c, errors.Join(err, file.Close())
}

// run runs kubectl.
func (c cluster) run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), c.kubectl, append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out), errors.New(err.Error() + ": " + string(out))
	}
	return string(out), nil
}

// accepts asks the API server whether it would make the objects, every field
// being one that it knows.
func (c cluster) accepts(t *testing.T, manifest string) {
	t.Helper()
	if out, err := c.run(t, manifest, "create", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil || strings.Contains(out, "Warning") {
		t.Errorf("kubectl create: %v\n%s", err, out)
	}
}
