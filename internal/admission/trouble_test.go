package admission

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestTroubleWithDigitalOceanLetsPass(t *testing.T) {
	tests := []struct {
		name  string
		fault simulator.Fault
		class string
	}{
		{"a server's error", simulator.Fault{Status: 500}, "cloud"},
		{"a gateway's error", simulator.Fault{Status: 503}, "cloud"},
		{"a limit of the account", simulator.Fault{Status: 429, ErrorID: "limit_exceeded", Message: "load balancer limit exceeded"}, "account"},
		{"too many requests", simulator.Fault{Quota: "hour"}, "throttled"},
		{"a token without rights", simulator.Fault{Status: 403}, "account"},
		{"slow", simulator.Fault{Delay: time.Minute}, "cloud"},
		{"broken connections", simulator.Fault{Reset: true}, "cloud"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			old := w.balance(service("a"))
			w.sim.AddFault(test.fault)
			t.Cleanup(w.server.CloseClientConnections)
			for name, pair := range map[string][2]*v1.Service{
				"create": {service("b"), nil}, "change": {with(old, annotation.SizeUnit, "2"), old},
			} {
				begun := time.Now()
				v := w.judged(pair[0], pair[1])
				if len(v.Errors) > 0 || v.Unchecked != test.class {
					t.Errorf("%s: errors %v, unchecked %q, want %q", name, v.Errors, v.Unchecked, test.class)
				}
				if took := time.Since(begun); took > 4*time.Second {
					t.Errorf("%s took %s", name, took)
				}
			}
			if v := w.judged(service("b", annotation.SizeUnit, "0"), nil); len(v.Errors) != 1 {
				t.Errorf("a mistake that needs no call: %v", v.Errors)
			}
		})
	}
}

func TestAResizeTooSoonIsNoMistake(t *testing.T) {
	w := newWorld(t, simulator.WithResizeInterval(time.Hour))
	old := w.balance(service("a"))
	id := old.Annotations[annotation.LoadBalancerID]
	w.sim.AddFault(simulator.Fault{Method: "PUT", Status: 422, Message: "load balancer can only be resized once every minute, last resized at 2026"})
	v := w.judged(with(old, annotation.SizeUnit, "2"), old)
	if len(v.Errors) > 0 || !contains(v.Warnings, "for now") {
		t.Errorf("%s: errors %v, warnings %q", id, v.Errors, v.Warnings)
	}
}

func TestLimitsAreTheManagers(t *testing.T) {
	w := newWorld(t)
	one := 1
	w.judge.limits = limits.Limits{{Name: "small", MaxSizeUnit: 2, Max: &one}}
	old := w.balance(service("a"))
	v := w.judged(with(old, annotation.SizeUnit, "3"), old)
	if len(v.Errors) != 1 || v.Errors[0].Field != path(annotation.SizeUnit) || !strings.Contains(v.Errors[0].Detail, "small") {
		t.Errorf("too large: %v", v.Errors)
	}
	if v = w.judged(with(old, annotation.SizeUnit, "2"), old); len(v.Errors) > 0 {
		t.Errorf("as large as may be: %v", v.Errors)
	}
	if v = w.judged(service("b"), nil); len(v.Errors) != 1 || v.Errors[0].Field != "spec.type" {
		t.Errorf("too many: %v", v.Errors)
	}
	beyond := with(old, annotation.SizeUnit, "5")
	if v = w.judged(with(beyond, annotation.HTTPIdleTimeoutSeconds, "90"), beyond); len(v.Errors) > 0 || len(v.Warnings) == 0 {
		t.Errorf("an old one beyond the limit: %v, %q", v.Errors, v.Warnings)
	}
}
