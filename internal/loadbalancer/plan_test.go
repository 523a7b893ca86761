package loadbalancer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPlanToCreateTellsEverythingThatIsAskedFor(t *testing.T) {
	d := Desired{Settings: full(t)}
	d.ProjectID, d.TLSCipherPolicy = "project-1", "STRONG"
	d.EnableProxyProtocol, d.HTTPIdleTimeoutSeconds = true, 90
	want := []string{
		"create load balancer a0f1e2d3c4b5a69788796a5b4c3d2e1f",
		"type REGIONAL, network EXTERNAL, network stack IPV4",
		"region nyc3", "project project-1", "VPC vpc-1", "subnet subnet-1", "IP 203.0.113.9", "size unit 1",
		"forwarding rule http:80->http:30080",
		"forwarding rule https:443->http:30443 (certificate " + certificate + ")",
		"health check http:10256/healthz every 3s, timeout 5s, healthy after 5, unhealthy after 3, PROXY protocol false",
		"PROXY protocol false -> true", "HTTP idle timeout 60s -> 90s", "TLS cipher policy DEFAULT -> STRONG",
		"allowed sources +ip:192.0.2.1", "denied sources +ip:192.0.2.9",
		"backends: 2 droplets",
	}
	if diff := cmp.Diff(want, PlanCreate(d)); diff != "" {
		t.Error(diff)
	}
	d.Tag = "k8s:c1"
	if lines := PlanCreate(d); lines[len(lines)-1] != "backends: the droplets with the tag k8s:c1" {
		t.Errorf("%q", lines)
	}
}

func TestAPlanToChangeTellsWhatCanNotBeAndWhatIsLeft(t *testing.T) {
	changes := []Change{{ChangeImmutable, FieldRegion, "a -> b"}, {ChangeSettings, FieldSize, "1 -> 2"}}
	left := []Change{{ChangeSettings, FieldName, "x -> y"}}
	want := []string{"change load balancer id", "can't be changed: region a -> b", "size unit 1 -> 2", "left to others: name x -> y"}
	if diff := cmp.Diff(want, PlanChange("id", changes, left)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"load balancer id is as this Service wants it"}, PlanChange("id", nil, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestAPlanIsCutWithACount(t *testing.T) {
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("line %d of some length", i))
	}
	text := JoinPlan(lines, "\n", 4096)
	shown := strings.Split(text, "\n")
	if len(text) > 4096 || shown[len(shown)-1] != fmt.Sprintf("and %d more", 500-len(shown)+1) {
		t.Errorf("%d bytes, the last %q of %d", len(text), shown[len(shown)-1], len(shown))
	}
	if got := JoinPlan([]string{"a", "b"}, "; ", 100); got != "a; b" {
		t.Errorf("%q", got)
	}
	if got := JoinPlan([]string{strings.Repeat("a", 50), "b"}, "; ", 40); got != "and 2 more" {
		t.Errorf("%q", got)
	}
}
