package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// line is a line of the log, field by field.
type line map[string]string

// lines reads the log as a collector of logs does, and checks that every line is
// one JSON object with each field once.
func (e *environment) lines() []line {
	e.t.Helper()
	var all []line
	for text := range strings.Lines(e.log.String()) {
		if strings.Contains(text, "Data race detection enabled") {
			continue // said before there is a format
		}
		if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}\n") {
			e.t.Errorf("a line that is no JSON object: %q", text)
			continue
		}
		l, err := fieldsOf(text)
		if err != nil {
			e.t.Errorf("%v: %s", err, text)
		}
		all = append(all, l)
	}
	return all
}

func fieldsOf(text string) (line, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if _, err := decoder.Token(); err != nil { // the brace
		return nil, err
	}
	l := line{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return l, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return l, err
		}
		name := key.(string)
		if _, twice := l[name]; twice {
			return l, fmt.Errorf("the field %s is there twice", name)
		}
		l[name] = string(bytes.Trim(value, `"`))
	}
	_, err := decoder.Token()
	if err == io.EOF {
		err = nil
	}
	return l, err
}

// said are the lines with the message.
func said(lines []line, message string) []line {
	var some []line
	for _, l := range lines {
		if l["msg"] == message {
			some = append(some, l)
		}
	}
	return some
}

func TestEveryChangeIsOneLineOfJSON(t *testing.T) {
	e := prepare(t, []simulator.Option{simulator.WithResizeInterval(0)}, driftEvery("5s"))
	e.args = []string{"--v=2", "--logging-format=json"}
	e.startManager()
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	e.addService("web", annotated("type", "REGIONAL"))
	_, lb := e.balanced("web")
	lb = e.unmarked(lb.ID)
	time.Sleep(lag) // until then the manager believes its own write
	e.mayWarn("LoadBalancerDrift")
	e.mayWrite(updateLB)
	e.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.SizeUnit = 2 })
	e.eventually(20*time.Second, "put back", func() error {
		if len(said(e.lines(), "Put load balancer back")) == 0 {
			return fmt.Errorf("not said")
		}
		return nil
	})
	e.patchService("web", `{"metadata":{"annotations":{"service.beta.kubernetes.io/do-loadbalancer-size-unit":"3"}}}`)
	e.becomes(lb.ID, "follows its Service", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 3 })
	e.deleteService("web")
	e.eventually(60*time.Second, "web is gone", e.gone("web"))

	lines := e.lines()
	for _, message := range []string{"Created load balancer", "Put load balancer back", "Changed load balancer", "Deleted load balancer"} {
		some := said(lines, message)
		if len(some) != 1 {
			t.Errorf("%q is said %d times, want once", message, len(some))
			continue
		}
		if l := some[0]; l["id"] != lb.ID || !strings.Contains(l["service"], "web") {
			t.Errorf("it isn't said what was changed for whom: %v", l)
		}
	}
	if len(said(lines, "Deleted the tag that a Service's load balancer was found by")) != 1 {
		t.Error("a deleted tag is not told, or more than once")
	}
	if n := len(e.changes()); n != 5 {
		t.Errorf("%d changes were made in DigitalOcean, and 5 told: %v", n, e.changes())
	}
}

// changes are the writes that DigitalOcean took.
func (e *environment) changes() []string {
	var made []string
	for _, w := range e.writes() {
		if strings.Contains(w, " 20") {
			made = append(made, w)
		}
	}
	return made
}

func TestAQuietClusterIsAQuietLog(t *testing.T) {
	e := prepare(t, nil, driftEvery("5s"), variable("PUBLIC_ACCESS_FIREWALL_NAME", "public"), variable("PUBLIC_ACCESS_FIREWALL_TAGS", "k8s"))
	e.mayWrite(createFirewall, updateFirewall, createTag)
	e.args = []string{"--v=2", "--logging-format=json"}
	e.startManager()
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	e.addService("web", nil)
	_, lb := e.balanced("web")
	e.unmarked(lb.ID)
	time.Sleep(5 * time.Second)
	before := len(e.lines())
	time.Sleep(25 * time.Second) // five looks for drift
	if after := e.lines(); len(after) > before {
		t.Errorf("%d lines though nothing happened: %v", len(after)-before, after[before:])
	}
}
