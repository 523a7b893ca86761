package chart

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func TestTheLeaseIsThePublicManagers(t *testing.T) {
	d := deployment(t, "replicas: 1\npodDisruptionBudget: {enabled: false}")
	args := d.Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{"--leader-elect=true", "--leader-elect-resource-name=cloud-controller-manager", "--leader-elect-resource-namespace=kube-system"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s among %q", want, args)
		}
	}
}

func TestTheRoleFollowsTheLease(t *testing.T) {
	objects := render(t, "leaderElection: {resourceName: other, resourceNamespace: default}")
	role := as[rbacv1.Role](t, objects, "Role", "system:cloud-controller-manager")
	binding := as[rbacv1.RoleBinding](t, objects, "RoleBinding", "system:cloud-controller-manager")
	if role.Namespace != "default" || binding.Namespace != "default" || binding.Subjects[0].Namespace != namespace {
		t.Errorf("role in %s, binding in %s for %+v", role.Namespace, binding.Namespace, binding.Subjects)
	}
	if names := role.Rules[1].ResourceNames; len(names) != 1 || names[0] != "other" {
		t.Errorf("leases %q", names)
	}
}

func TestTheLeaseOfOtherManagersIsReadWhereItIsNotTheOwn(t *testing.T) {
	for values, want := range map[string]bool{
		"":                                      false,
		"leaderElection: {resourceName: other}": true,
		"leaderElection: {resourceNamespace: elsewhere}": true,
	} {
		names := []string{}
		for _, o := range render(t, values) {
			if o.GetKind() == "Role" && o.GetNamespace() == "kube-system" {
				names = append(names, o.GetName())
			}
		}
		if got := slices.Contains(names, "system:cloud-controller-manager:other-managers"); got != want {
			t.Errorf("%q: roles %q", values, names)
		}
	}
}

func TestNamespacesAreReadOnlyForLimitsThatSelectThem(t *testing.T) {
	tests := []struct {
		name, values string
		want         bool
	}{
		{"no limits", "", false},
		{"a limit for all", "config: {loadBalancer: {limits: {all: {maxSizeUnit: 3}}}}", false},
		{"a limit for some", "config: {loadBalancer: {limits: {all: {maxSizeUnit: 3}, some: {namespaces: a=b, maxSizeUnit: 1}}}}", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			role := as[rbacv1.ClusterRole](t, render(t, test.values), "ClusterRole", "system:cloud-controller-manager")
			got := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "namespaces") })
			if got != test.want {
				t.Errorf("namespaces may be read: %t", got)
			}
		})
	}
}

// No verb and no resource is a wildcard, and nothing that the public manager has
// and doesn't use is there.
func TestRightsAreNamed(t *testing.T) {
	for name, values := range matrix(t) {
		for _, o := range render(t, values) {
			if kind := o.GetKind(); kind != "ClusterRole" && kind != "Role" {
				continue
			}
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal(text, &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, granted := range slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups) {
					if granted == "*" || granted == "persistentvolumes" || granted == "endpoints" || granted == "serviceaccounts" {
						t.Errorf("%s: %s grants %s", name, role.Name, granted)
					}
				}
			}
		}
	}
}
