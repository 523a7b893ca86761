package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/test/harness"
)

const (
	admissionName     = "digitalocean-cloud-controller-manager-admission-server"
	admissionManifest = "../../deploy/manifests"
)

// admissionServer is a running server.
type admissionServer struct {
	e       *environment
	address string
	metrics string
	cmd     *exec.Cmd
	log     harness.Log
}

// prepareAdmission starts a cluster with what the server needs there.
func prepareAdmission(t *testing.T, options ...option) *environment {
	t.Helper()
	e := prepare(t, nil, options...)
	e.mayWrite(createLB)               // which only asks
	e.mayWarn("ClusterIPNotAllocated") // the API server's, of itself, when it starts slowly
	e.apply("admission-rbac.yaml")
	user, err := e.plane.AddUser("system:serviceaccount:kube-system:"+admissionName, "system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.kubeconfig, user.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *environment) apply(manifest string) {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(admissionManifest, manifest))
	if err != nil {
		e.t.Fatal(err)
	}
	if err := sandbox.Apply(e.ctx, e.plane.Config(), text); err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) startAdmission(variables ...string) *admissionServer {
	e.t.Helper()
	s := &admissionServer{e: e, address: harness.FreeAddress(e.t), metrics: harness.FreeAddress(e.t)}
	s.cmd = exec.CommandContext(e.ctx, programs.AdmissionServer, append([]string{"--kubeconfig=" + e.kubeconfig, "--v=2"}, e.args...)...)
	s.cmd.Env = append(append(e.env(), "ADMISSION_ADDR="+s.address, "METRICS_ADDR="+s.metrics, "ADMISSION_CERT_NAMES=127.0.0.1",
		"ADMISSION_CERT_DIR="+e.t.TempDir(), "ADMISSION_SHUTDOWN_DELAY=500ms", "PATH="+os.Getenv("PATH")), variables...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(s.check)
	e.eventually(30*time.Second, "the admission server is ready", func() error {
		code, body, err := e.get("https://" + s.address + "/readyz")
		if err == nil && code != 200 {
			err = fmt.Errorf("%d: %s", code, body)
		}
		return err
	})
	return s
}

// check holds for every server.
func (s *admissionServer) check() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	text := s.log.String()
	for _, bad := range []string{"panic", "DATA RACE", token, "PRIVATE KEY"} {
		if strings.Contains(text, bad) {
			s.e.t.Errorf("the server's log has %q", bad)
		}
	}
	if s.e.t.Failed() {
		s.e.t.Logf("the end of the server's log:\n%s", harness.Tail(text, 60))
	}
}

func (s *admissionServer) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// register applies the configuration as it is shipped, but for the address:
// there is no network in which Services have one.
func (s *admissionServer) register() {
	s.e.t.Helper()
	text, err := os.ReadFile(filepath.Join(admissionManifest, "admission-webhook.yaml"))
	if err != nil {
		s.e.t.Fatal(err)
	}
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(text, configuration); err != nil {
		s.e.t.Fatal(err)
	}
	url := "https://" + s.address + "/lb-service"
	configuration.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
	if _, err := s.e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(s.e.ctx, configuration, metav1.CreateOptions{}); err != nil {
		s.e.t.Fatal(err)
	}
}

// bundle is what the configuration holds as the server's authorities.
func (e *environment) bundle() ([]byte, error) {
	c, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(e.ctx, admissionName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if len(c.Webhooks[0].ClientConfig.CABundle) == 0 {
		return nil, fmt.Errorf("no authority")
	}
	return c.Webhooks[0].ClientConfig.CABundle, nil
}

// kubectl runs kubectl as an administrator, with a manifest on its standard
// input, and returns what a person sees.
func (e *environment) kubectl(manifest string, args ...string) (string, error) {
	e.t.Helper()
	file := filepath.Join(e.t.TempDir(), "admin")
	if err := os.WriteFile(file, e.plane.Kubeconfig(), 0o600); err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Assets.Kubectl, append([]string{"--kubeconfig=" + file}, args...)...)
	cmd.Stdin = strings.NewReader(manifest)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	return output.String(), err
}

func serviceManifest(name string, annotations ...string) string {
	text := "apiVersion: v1\nkind: Service\nmetadata:\n  name: " + name + "\n  namespace: default\n  annotations:\n    example.com/a: b\n"
	for i := 0; i < len(annotations); i += 2 {
		text += fmt.Sprintf("    %s: %q\n", annotations[i], annotations[i+1])
	}
	return text + "spec:\n  type: LoadBalancer\n  selector: {app: web}\n  ports: [{name: http, port: 80}]\n"
}
