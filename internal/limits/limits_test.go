package limits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

const someID = "5a4981aa-9653-4bd1-bef5-d6bff52042e4"

// age orders Services: one with a lower number is older.
func service(namespace, name string, age int, annotations ...string) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, age, 0, 0, time.UTC)),
		},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80, Protocol: v1.ProtocolTCP}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		svc.Annotations[annotations[i]] = annotations[i+1]
	}
	return svc
}

func served(svc *v1.Service) *v1.Service {
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	return svc
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var defaults = annotation.Defaults{
	Type:    annotation.TypeRegionalNetwork,
	Values:  map[string]string{annotation.HTTPIdleTimeoutSeconds: "90"},
	Classes: map[string]map[string]string{"big": {annotation.SizeUnit: "9", annotation.AllowRules: "ip:203.0.113.9"}},
}

func request(svc *v1.Service, standing Standing) Request {
	spec, _ := annotation.Parse(svc, defaults)
	return Request{Service: svc, Spec: spec, Defaults: defaults, Standing: standing}
}

// refusals are the fields of the problems with their values and limits.
func refusals(problems []annotation.Problem) []string {
	var all []string
	for _, p := range problems {
		_, limit, _ := strings.Cut(p.Allowed, `limit "`)
		limit, _, _ = strings.Cut(limit, `"`)
		all = append(all, annotation.Suffix(p.Field)+"="+p.Value+" by "+limit)
	}
	slices.Sort(all)
	return all
}

func TestCheckRefusesWhatALimitDoesNotAllow(t *testing.T) {
	tests := []struct {
		name     string
		limit    Limit
		svc      *v1.Service
		standing Standing
		want     []string
	}{
		{"nothing restricted", Limit{}, service("a", "x", 1, annotation.LoadBalancerID, someID, annotation.SizeUnit, "100"), Unproven, nil},
		{"another type", Limit{Types: []string{"REGIONAL"}}, service("a", "x", 1), None, []string{"type=REGIONAL_NETWORK by l"}},
		{"an allowed type", Limit{Types: []string{"REGIONAL"}}, service("a", "x", 1, annotation.Type, "REGIONAL"), None, nil},
		{"another network", Limit{Networks: []string{"INTERNAL"}}, service("a", "x", 1), None, []string{"network=EXTERNAL by l"}},
		{"no project", Limit{Projects: []string{someID}}, service("a", "x", 1), None, []string{"project-id= by l"}},
		{"an allowed project", Limit{Projects: []string{someID}}, service("a", "x", 1, annotation.ProjectID, someID), None, nil},
		{"the project of a load balancer that exists", Limit{Projects: []string{someID}}, service("a", "x", 1), Own, nil},
		{"too large", Limit{MaxSizeUnit: 3}, service("a", "x", 1, annotation.SizeUnit, "4"), None, []string{"size-unit=4 by l"}},
		{"as large as may be", Limit{MaxSizeUnit: 4}, service("a", "x", 1, annotation.SizeUnit, "4"), None, nil},
		{"too large by a slug", Limit{MaxSizeUnit: 3}, service("a", "x", 1, annotation.SizeSlug, "lb-large"), None, []string{"size-slug=lb-large by l"}},
		{"too large by a class", Limit{MaxSizeUnit: 3}, service("a", "x", 1, annotation.Class, "big"), None, []string{"size-unit=9 by l"}},
		{"too large though it exists", Limit{MaxSizeUnit: 3}, service("a", "x", 1, annotation.SizeUnit, "4"), Own, []string{"size-unit=4 by l"}},
		{"a forbidden annotation", Limit{Forbid: []string{annotation.IP}}, service("a", "x", 1, annotation.IP, "203.0.113.1"), None, []string{"ip=203.0.113.1 by l"}},
		{"an empty one counts as absent", Limit{Forbid: []string{annotation.IP}}, service("a", "x", 1, annotation.IP, ""), None, nil},
		{"unless its presence counts", Limit{Forbid: []string{annotation.OverrideHealthCheck}}, service("a", "x", 1, annotation.OverrideHealthCheck, ""), None, []string{"override-health-check= by l"}},
		{"a forbidden one of a port", Limit{Forbid: []string{annotation.CertificateID}}, service("a", "x", 1, annotation.CertificateID+".443", someID), None, []string{"certificate-id.443=" + someID + " by l"}},
		{"but not of a longer name", Limit{Forbid: []string{annotation.CertificateID}}, service("a", "x", 1, annotation.CertificateID+"-x", someID), None, nil},
		{"a forbidden one from a class is the operator's", Limit{Forbid: []string{annotation.AllowRules}}, service("a", "x", 1, annotation.Class, "big"), None, nil},
		{"an id of somebody else's", Limit{Forbid: []string{annotation.LoadBalancerID}}, service("a", "x", 1, annotation.LoadBalancerID, someID), Unproven, []string{"load-balancer-id=" + someID + " by l"}},
		{"the own id", Limit{Forbid: []string{annotation.LoadBalancerID}}, service("a", "x", 1, annotation.LoadBalancerID, someID), Own, nil},
		{"an id that leads nowhere", Limit{Forbid: []string{annotation.LoadBalancerID}}, service("a", "x", 1, annotation.LoadBalancerID, someID), None, nil},
		{"a forbidden type", Limit{Forbid: []string{annotation.Type}}, service("a", "x", 1, annotation.Type, "REGIONAL"), None, []string{"type=REGIONAL by l"}},
		{"the type that the manager wrote", Limit{Forbid: []string{annotation.Type}}, service("a", "x", 1, annotation.Type, "REGIONAL"), Own, nil},
		{"the default type", Limit{Forbid: []string{annotation.Type}}, service("a", "x", 1, annotation.Type, "REGIONAL_NETWORK"), None, nil},
		{"none at all", Limit{Max: new(0)}, service("a", "x", 1), None, []string{"spec.type=LoadBalancer by l"}},
		{"but the one that exists", Limit{Max: new(0)}, service("a", "x", 1), Own, nil},
		{"and one that is made again", Limit{Max: new(0)}, served(service("a", "x", 1)), None, nil},
		{"taking one over is one more", Limit{Max: new(0)}, service("a", "x", 1, annotation.LoadBalancerID, someID), Unproven, []string{"spec.type=LoadBalancer by l"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.limit.Name = "l"
			got := Limits{test.limit}.Check(request(test.svc, test.standing))
			if diff := cmp.Diff(test.want, refusals(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckTellsEveryLimitAndWhatIsAllowed(t *testing.T) {
	l := Limits{
		{Name: "small", MaxSizeUnit: 3},
		{Name: "smaller", MaxSizeUnit: 2, Types: []string{"REGIONAL"}, Forbid: []string{annotation.LoadBalancerID}},
	}
	svc := service("a", "x", 1, annotation.SizeUnit, "4", annotation.LoadBalancerID, someID)
	var texts []string
	for _, p := range l.Check(request(svc, Unproven)) {
		texts = append(texts, p.String())
	}
	want := []string{
		annotation.SizeUnit + `: "4" is not valid: must be at most 3 nodes (limit "small" of the manager's configuration)`,
		annotation.Type + `: "REGIONAL_NETWORK" is not valid: must be REGIONAL (limit "smaller" of the manager's configuration)`,
		annotation.SizeUnit + `: "4" is not valid: must be at most 2 nodes (limit "smaller" of the manager's configuration)`,
		annotation.LoadBalancerID + `: "` + someID + `" is not valid: must be absent, unless it is the id of the load balancer that was made for this very Service (limit "smaller" of the manager's configuration)`,
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

func TestLimitsConcernTheSelectedNamespaces(t *testing.T) {
	l := Limits{{Name: "tenants", Namespaces: selector(t, "tenant"), MaxSizeUnit: 1, Forbid: []string{annotation.LoadBalancerID}}}
	namespaces := func(name string) labels.Set {
		return map[string]labels.Set{"a": {"tenant": "a"}, "b": {"team": "b"}}[name]
	}
	for _, test := range []struct {
		namespace string
		labelsOf  func(string) labels.Set
		refused   bool
	}{{"a", namespaces, true}, {"b", namespaces, false}, {"c", namespaces, false}, {"a", nil, false}} {
		r := request(service(test.namespace, "x", 1, annotation.SizeUnit, "2"), None)
		r.Namespace = test.labelsOf
		if got := len(l.Check(r)) > 0; got != test.refused {
			t.Errorf("namespace %s: refused %t", test.namespace, got)
		}
		if _, got := l.ForbidsTakeOver(r.Service, test.labelsOf); got != test.refused {
			t.Errorf("namespace %s: taking over is forbidden: %t", test.namespace, got)
		}
	}
	if !l.NeedNamespaces() || l.NeedOthers() {
		t.Error("the limit needs namespaces and no other Services")
	}
}

func TestCountsLetTheOldestHaveTheLastLoadBalancers(t *testing.T) {
	all := []*v1.Service{
		served(service("a", "first", 1)),
		service("a", "second", 2),
		service("a", "third", 3),
		service("b", "fourth", 4),
		service("b", "fifth", 5),
		// These hold nobody up.
		service("a", "broken", 0, annotation.SizeUnit, "0"),
		service("a", "left alone", 0, annotation.Disown, "true"),
		service("a", "rehearsed", 0, annotation.DryRun, "true"),
		func() *v1.Service { s := service("a", "inside", 0); s.Spec.Type = v1.ServiceTypeClusterIP; return s }(),
		func() *v1.Service { s := service("a", "strange", 0); s.Spec.LoadBalancerClass = new("x/y"); return s }(),
		func() *v1.Service { s := service("a", "leaving", 0); s.DeletionTimestamp = new(metav1.Now()); return s }(),
	}
	tests := []struct {
		name     string
		limits   Limits
		admitted []string
	}{
		{"enough for all", Limits{{Name: "l", Max: new(5)}}, []string{"first", "second", "third", "fourth", "fifth"}},
		{"for three", Limits{{Name: "l", Max: new(3)}}, []string{"first", "second", "third"}},
		{"for none, but the one that is", Limits{{Name: "l", Max: new(0)}}, []string{"first"}},
		{"one in each namespace", Limits{{Name: "l", MaxPerNamespace: new(1)}}, []string{"first", "fourth"}},
		{"those refused by one limit hold up nobody in another", Limits{{Name: "l", Max: new(3)}, {Name: "m", MaxPerNamespace: new(1)}}, []string{"first", "fourth"}},
		{"nor those refused for what they ask", Limits{{Name: "l", Max: new(2)}, {Name: "m", Namespaces: selector(t, "name=a"), Types: []string{"REGIONAL"}}}, []string{"fourth"}},
		{"of the selected namespaces only", Limits{{Name: "l", Namespaces: selector(t, "name=b"), Max: new(1)}}, []string{"first", "second", "third", "fourth"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var admitted []string
			for _, svc := range all[:5] {
				r := request(svc, None)
				r.Namespace = func(name string) labels.Set { return labels.Set{"name": name} }
				r.Others = Others(svc, all, defaults, nil)
				if len(test.limits.Check(r)) == 0 {
					admitted = append(admitted, svc.Name)
				}
			}
			if diff := cmp.Diff(test.admitted, admitted); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A Service that is judged before it is made is the youngest.
func TestCountsTakeAServiceThatIsBeingMadeForTheYoungest(t *testing.T) {
	svc := service("a", "new", 0)
	svc.UID, svc.CreationTimestamp = "", metav1.Time{}
	r := request(svc, None)
	r.Others = Others(svc, []*v1.Service{service("a", "old", 9)}, defaults, nil)
	if got := refusals(Limits{{Name: "l", Max: new(1)}}.Check(r)); len(got) != 1 {
		t.Errorf("refused %q", got)
	}
}

func TestOthersBelieveWhoeverKnowsMore(t *testing.T) {
	svc := service("a", "x", 9)
	all := []*v1.Service{svc, service("a", "made", 1), served(service("a", "served", 2)), service("a", "waits", 3)}
	got := map[string]bool{}
	for _, o := range Others(svc, all, defaults, func(s *v1.Service) bool { return s.Name == "made" }) {
		got[o.Service.Name] = o.Has
	}
	if diff := cmp.Diff(map[string]bool{"made": true, "served": true, "waits": false}, got); diff != "" {
		t.Error(diff)
	}
}

func TestForbidKey(t *testing.T) {
	for suffix, want := range map[string]string{
		"load-balancer-id": annotation.LoadBalancerID, "ip": annotation.IP, "disown": annotation.Disown, "class": annotation.Class,
		"certificate-id": annotation.CertificateID, "certificate-name": annotation.CertificateName,
	} {
		if key, err := ForbidKey(suffix); key != want || err != nil {
			t.Errorf("%s: %q, %v", suffix, key, err)
		}
	}
	for suffix, want := range map[string]string{
		"size-units": "is size-unit meant?", "colour-of-the-sky": "load-balancer-id", "load-balancer-defaults-version": "writes it",
	} {
		if _, err := ForbidKey(suffix); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v lacks %q", suffix, err, want)
		}
	}
}
