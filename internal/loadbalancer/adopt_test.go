package loadbalancer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestTakeOverWithinTheVPC(t *testing.T) {
	tests := []struct {
		name            string
		actual, cluster string
		refused         bool
	}{
		{"the same", "vpc-1", "vpc-1", false},
		{"another", "vpc-2", "vpc-1", true},
		{"the cluster's is not known", "vpc-2", "", false},
		{"the load balancer's is not shown", "", "vpc-1", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems := CheckTakeOver("id", Settings{VPC: test.actual}, Cluster{VPC: test.cluster})
			if (len(problems) > 0) != test.refused {
				t.Fatalf("problems %v", problems)
			}
			if test.refused && (!strings.Contains(problems[0].Allowed, test.actual) || !strings.Contains(problems[0].Allowed, test.cluster)) {
				t.Errorf("%q doesn't name both", problems[0].Allowed)
			}
		})
	}
}

// A Service that works with the public manager, which reads these only with the
// override, works here.
func TestWhatHasNoEffectIsNoProblem(t *testing.T) {
	tests := []struct {
		name        string
		annotations map[string]string
		want        []string
	}{
		{"a path without slash", map[string]string{annotation.HealthCheckPath: "healthz"}, nil},
		{"a port the Service lacks", map[string]string{annotation.HealthCheckPort: "81"}, nil},
		{"an unknown protocol", map[string]string{annotation.HealthCheckProtocol: "udp"}, nil},
		{"a path with the override", map[string]string{annotation.HealthCheckPath: "healthz", annotation.OverrideHealthCheck: ""}, []string{annotation.HealthCheckPath}},
		{"what always has an effect", map[string]string{annotation.HealthCheckHealthyThreshold: "11"}, []string{annotation.HealthCheckHealthyThreshold}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := service("80:30080")
			svc.Annotations = test.annotations
			spec, problems := annotation.Parse(svc, annotation.Defaults{Type: annotation.TypeRegional})
			var fields []string
			for _, p := range Effective(spec, problems) {
				fields = append(fields, p.Field)
			}
			if diff := cmp.Diff(test.want, fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBetweenTellsEditsFromDrift(t *testing.T) {
	agreed := desire(t, service("80:30080"), regional()).Settings
	with := func(edit func(*Settings)) Settings {
		s := agreed
		edit(&s)
		return s
	}
	size := func(n int) func(*Settings) { return func(s *Settings) { s.SizeUnit = n } }
	tests := []struct {
		name            string
		desired, actual Settings
		asked, foreign  string
	}{
		{"nothing", agreed, agreed, "", ""},
		{"an edit", with(size(2)), agreed, "size unit 1 -> 2", ""},
		{"drift", agreed, with(size(3)), "", "size unit 3 -> 1"},
		{"an edit of what drifted", with(size(2)), with(size(3)), "size unit 3 -> 2", ""},
		{"both", with(func(s *Settings) { s.RedirectHTTPToHTTPS = true }), with(size(3)), "redirect HTTP to HTTPS false -> true", "size unit 3 -> 1"},
		{"a droplet that came", with(func(s *Settings) { s.DropletIDs = []int{1, 2, 3} }), agreed, "droplets +1 (added 3), now 3", ""},
		{"a droplet that was taken out", agreed, with(func(s *Settings) { s.DropletIDs = []int{1} }), "", "droplets +1 (added 2), now 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked, foreign := Between(agreed, test.desired, Diff(test.desired, test.actual))
			if got := Describe(asked); got != test.asked {
				t.Errorf("asked %q, want %q", got, test.asked)
			}
			if got := Describe(foreign); got != test.foreign {
				t.Errorf("foreign %q, want %q", got, test.foreign)
			}
		})
	}
}
