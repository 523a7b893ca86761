package chart

import (
	"path"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

func deployment(t *testing.T, values string) *appsv1.Deployment {
	t.Helper()
	return as[appsv1.Deployment](t, render(t, values), "Deployment", chartName)
}

func variable(c v1.Container, name string) *v1.EnvVar {
	if i := slices.IndexFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == name }); i >= 0 {
		return &c.Env[i]
	}
	return nil
}

func TestByDefaultTwoReplicasStandInForEachOther(t *testing.T) {
	objects := render(t, "")
	d := as[appsv1.Deployment](t, objects, "Deployment", chartName)
	if *d.Spec.Replicas != 2 || d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 0 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 1 {
		t.Errorf("%d replicas, strategy %+v", *d.Spec.Replicas, d.Spec.Strategy.RollingUpdate)
	}
	terms := d.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(terms) != 1 || terms[0].TopologyKey != "kubernetes.io/hostname" {
		t.Fatalf("anti-affinity %+v", terms)
	}
	budget := as[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget", chartName)
	for key, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[key] != value || terms[0].LabelSelector.MatchLabels[key] != value || budget.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("%s=%s isn't the Pod's, the anti-affinity's and the budget's", key, value)
		}
	}
	if budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("budget %+v", budget.Spec)
	}
}

func TestTheManagerStartsBeforeTheNetwork(t *testing.T) {
	pod := deployment(t, "kubernetesAPI: {host: 10.0.0.1, port: 6443}").Spec.Template.Spec
	if !pod.HostNetwork || pod.DNSPolicy != v1.DNSDefault || pod.PriorityClassName != "system-cluster-critical" {
		t.Errorf("host network %t, DNS %s, priority %s", pod.HostNetwork, pod.DNSPolicy, pod.PriorityClassName)
	}
	for _, taint := range []v1.Taint{
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: v1.TaintEffectNoSchedule},
		{Key: "node-role.kubernetes.io/control-plane", Effect: v1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/not-ready", Effect: v1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/not-ready", Effect: v1.TaintEffectNoExecute},
		{Key: "node.kubernetes.io/network-unavailable", Effect: v1.TaintEffectNoSchedule},
		{Key: "CriticalAddonsOnly", Value: "true", Effect: v1.TaintEffectNoExecute},
	} {
		if !slices.ContainsFunc(pod.Tolerations, func(x v1.Toleration) bool {
			return x.Key == taint.Key && x.Operator == v1.TolerationOpExists && (x.Effect == "" || x.Effect == taint.Effect)
		}) {
			t.Errorf("%+v is not tolerated", taint)
		}
	}
	for _, x := range pod.Tolerations {
		if x.Key == "" || strings.HasSuffix(x.Key, "/unreachable") || strings.HasSuffix(x.Key, "/shutdown") {
			t.Errorf("%+v keeps the manager on a node that is down", x)
		}
	}
	container := pod.Containers[0]
	for _, e := range container.Env {
		// On the host's network a Pod has no address before the manager gave its
		// Node one, and the kubelet doesn't start a container that wants it.
		if e.ValueFrom != nil {
			t.Errorf("variable %s comes from %+v", e.Name, e.ValueFrom)
		}
	}
	for _, probe := range []*v1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		if probe.HTTPGet.Host != "127.0.0.1" {
			t.Errorf("a probe asks %q", probe.HTTPGet.Host)
		}
	}
	if host, port := variable(container, "KUBERNETES_SERVICE_HOST"), variable(container, "KUBERNETES_SERVICE_PORT"); host == nil || host.Value != "10.0.0.1" || port.Value != "6443" {
		t.Errorf("API server %v %v", host, port)
	}
	if debug := variable(container, "DEBUG_ADDR"); debug == nil || !strings.HasPrefix(debug.Value, "127.0.0.1:") {
		t.Errorf("the debug listener is at %v", debug)
	}
}

func TestPodsMayDoLittle(t *testing.T) {
	objects := render(t, "admission: {enabled: true}")
	for _, name := range []string{chartName, chartName + "-admission-server"} {
		pod := as[appsv1.Deployment](t, objects, "Deployment", name).Spec.Template.Spec
		if c := pod.SecurityContext; !*c.RunAsNonRoot || *c.RunAsUser == 0 || c.SeccompProfile.Type != v1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: pod %+v", name, c)
		}
		c := pod.Containers[0].SecurityContext
		if !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || len(c.Capabilities.Drop) != 1 || c.Capabilities.Drop[0] != "ALL" || len(c.Capabilities.Add) > 0 {
			t.Errorf("%s: container %+v", name, c)
		}
	}
}

func TestTheTokenIsAFileThatChanges(t *testing.T) {
	tests := []struct{ name, values, secret, key string }{
		{"a Secret that exists", "", "digitalocean", "access-token"},
		{"another one", "token: {secretName: mine, secretKey: t}", "mine", "t"},
		{"by value", "token: {value: dop_v1_abc}", chartName + "-token", "access-token"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			objects := render(t, test.values+"\nadmission: {enabled: true}")
			for _, name := range []string{chartName, chartName + "-admission-server"} {
				checkToken(t, as[appsv1.Deployment](t, objects, "Deployment", name).Spec.Template.Spec, test.secret, test.key)
			}
			secrets := slices.DeleteFunc(objects, isNotSecret)
			if strings.Contains(test.values, "value") {
				secret := as[v1.Secret](t, secrets, "Secret", test.secret)
				if string(secret.Data[test.key]) != "dop_v1_abc" {
					t.Errorf("Secret %+v", secret)
				}
			} else if len(secrets) > 0 {
				t.Errorf("the chart makes %d Secrets", len(secrets))
			}
		})
	}
}

func checkToken(t *testing.T, pod v1.PodSpec, secret, key string) {
	t.Helper()
	container := pod.Containers[0]
	file := variable(container, "DO_ACCESS_TOKEN_FILE")
	if file == nil || variable(container, "DO_ACCESS_TOKEN") != nil {
		t.Fatalf("environment %+v", container.Env)
	}
	mount := slices.IndexFunc(container.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == "token" })
	volume := slices.IndexFunc(pod.Volumes, func(v v1.Volume) bool { return v.Name == "token" })
	if mount < 0 || volume < 0 {
		t.Fatal("the token is not mounted")
	}
	if m := container.VolumeMounts[mount]; m.SubPath != "" || !m.ReadOnly {
		t.Errorf("mount %+v", m)
	}
	source := pod.Volumes[volume].Secret
	if source.SecretName != secret || source.Items[0].Key != key || path.Join(container.VolumeMounts[mount].MountPath, source.Items[0].Path) != file.Value {
		t.Errorf("the file %s comes from %+v", file.Value, source)
	}
	// Readable by the group, which fsGroup is, and by nobody else.
	if *source.DefaultMode != 0o440 || pod.SecurityContext.FSGroup == nil {
		t.Errorf("mode %o, group %v", *source.DefaultMode, pod.SecurityContext.FSGroup)
	}
}

func TestADaemonSetRunsOnControlPlanesOnly(t *testing.T) {
	objects := render(t, "kind: DaemonSet")
	pod := as[appsv1.DaemonSet](t, objects, "DaemonSet", chartName).Spec.Template.Spec
	required := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || required.NodeSelectorTerms[0].MatchExpressions[0].Key != "node-role.kubernetes.io/control-plane" {
		t.Errorf("affinity %+v", pod.Affinity)
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" || o.GetKind() == "PodDisruptionBudget" {
			t.Errorf("there is a %s too", o.GetKind())
		}
	}
}

func TestASettingRollsThePodsAndATokenDoesNot(t *testing.T) {
	const annotation = "checksum/config"
	sum := func(values string) string { return deployment(t, values).Spec.Template.Annotations[annotation] }
	base := sum("")
	if base == "" || sum("config: {region: nyc3}") == base {
		t.Error("another setting doesn't roll the Pods")
	}
	if sum("token: {secretKey: other}") != base {
		t.Error("another token rolls the Pods")
	}
}
