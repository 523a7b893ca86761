package chart

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

func TestTheChartIsInstalledAndUpgraded(t *testing.T) {
	c := startCluster(t)
	kube, err := kubernetes.NewForConfig(c.plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	release := func(command, values string) {
		t.Helper()
		mustHelm(t, command, "ccm", chartPath, "--kubeconfig", c.kubeconfig, "--namespace", namespace, "--values", valuesFile(t, values))
	}
	release("install", "admission: {enabled: true}")
	const name = chartName
	before, err := kube.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The admission server tells the authority of its certificates.
	const webhook = chartName + "-admission-server"
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": c.plane.Config().CAData}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(t.Context(), webhook, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "admission-server"}); err != nil {
		t.Fatal(err)
	}

	release("upgrade", "admission: {enabled: true}\nconfig: {region: ams3}\nreplicas: 3")
	after, err := kube.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if before.UID != after.UID || *after.Spec.Replicas != 3 {
		t.Errorf("the Deployment was made anew, or has %d replicas", *after.Spec.Replicas)
	}
	settings, err := kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || !strings.Contains(settings.Data["config.yaml"], "region: ams3") {
		t.Errorf("%v, %v", settings.Data, err)
	}
	configuration, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), webhook, metav1.GetOptions{})
	if err != nil || len(configuration.Webhooks[0].ClientConfig.CABundle) == 0 {
		t.Errorf("the upgrade took the server's authority away: %v", err)
	}

	mustHelm(t, "uninstall", "ccm", "--kubeconfig", c.kubeconfig, "--namespace", namespace)
	left, err := c.run(t, "", "get", "all,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,validatingwebhookconfigurations,poddisruptionbudgets", "--all-namespaces", "-l", "app.kubernetes.io/instance=ccm", "-o", "name")
	if err != nil || strings.Contains(left, "/") {
		t.Errorf("left behind: %s %v", left, err)
	}
}

// A second release must not take over the first one's objects.
func TestASecondReleaseNeedsNamesOfItsOwn(t *testing.T) {
	const others = "fullnameOverride: other\nserviceAccount: {name: other}\nleaderElection: {resourceName: other}\nadmission: {enabled: true}"
	names := map[string]bool{}
	for _, o := range render(t, "admission: {enabled: true}") {
		names[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = true
	}
	for _, o := range render(t, others) {
		if key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName(); names[key] {
			t.Errorf("both have %s", key)
		}
	}
}
