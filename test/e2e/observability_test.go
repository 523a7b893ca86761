package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/internal/state"
	"digitalocean-cloud-controller-manager/test/harness"
)

// scrape reads metrics as Prometheus does.
func (e *environment) scrape(address string) map[string]*dto.MetricFamily {
	e.t.Helper()
	status, body, err := e.get("http://" + address + "/metrics")
	if err != nil || status != 200 {
		e.t.Fatalf("scrape: %d, %v", status, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		e.t.Fatalf("Prometheus can't read the metrics: %v", err)
	}
	return families
}

// valueOf is the value of the one series with the labels, given as name=value;
// of a histogram, how much it counted. -1: there is none.
func valueOf(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	for _, m := range families[name].GetMetric() {
		has := 0
		for _, pair := range m.GetLabel() {
			if slices.Contains(labels, pair.GetName()+"="+pair.GetValue()) {
				has++
			}
		}
		switch {
		case has < len(labels):
		case m.GetGauge() != nil:
			return m.GetGauge().GetValue()
		case m.GetCounter() != nil:
			return m.GetCounter().GetValue()
		default:
			return float64(m.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

// documentedMetrics are the type and the labels of each metric, by its name, as
// the documentation has them.
func documentedMetrics(t *testing.T) map[string][2]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][2]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		all[row[1]] = [2]string{row[2], row[3]}
	}
	return all
}

// state reads what the manager shows of its state.
func (e *environment) state(address string) state.Report {
	e.t.Helper()
	status, body, err := e.get("http://" + address + "/debug/state")
	if err != nil || status != 200 {
		e.t.Fatalf("state: %d, %v", status, err)
	}
	if strings.Contains(body, token) {
		e.t.Error("the state has the token")
	}
	var report state.Report
	if err := json.Unmarshal([]byte(body), &report); err != nil {
		e.t.Fatalf("%v in\n%s", err, body)
	}
	return report
}

func serviceIn(r state.Report, name string) state.Service {
	i := slices.IndexFunc(r.Services, func(s state.Service) bool { return s.Name == name })
	if i < 0 {
		return state.Service{}
	}
	return r.Services[i]
}

// eventuallyShows waits until the state of a Service is as the check wants it.
func (e *environment) eventuallyShows(address, name, what string, check func(state.Service) bool) state.Service {
	e.t.Helper()
	var s state.Service
	e.eventually(40*time.Second, name+" is shown "+what, func() error {
		if s = serviceIn(e.state(address), name); !check(s) {
			return fmt.Errorf("shown as %+v", s)
		}
		return nil
	})
	return s
}

func TestMetricsAreReadByPrometheusAndDocumented(t *testing.T) {
	metrics := harness.FreeAddress(t)
	e, _ := startWithNode(t, nil, variable("METRICS_ADDR", metrics), driftEvery("5s"))
	e.addService("web", nil)
	e.balanced("web")
	e.eventually(30*time.Second, "a look for drift", func() error {
		if n := valueOf(e.scrape(metrics), "digitalocean_ccm_drift_checks_total", "result=success"); n < 1 {
			return fmt.Errorf("%v looks", n)
		}
		return nil
	})
	families := e.scrape(metrics)
	for name, want := range map[string]float64{
		"digitalocean_ccm_build_info": 1, "digitalocean_ccm_leader": 1, "digitalocean_ccm_snapshot_load_balancers": 1,
		"digitalocean_ccm_nodes state=initialized": 1, "digitalocean_ccm_nodes state=gone": 0,
		"digitalocean_ccm_load_balancers state=settled": 1, "digitalocean_ccm_load_balancers state=failing": 0,
		"digitalocean_ccm_away_objects kind=load_balancer": 0, "digitalocean_ccm_away_objects kind=node": 0,
		"digitalocean_ccm_away_seconds kind=node": 0, "digitalocean_ccm_controller_failing controller=drift-controller": 0,
		"digitalocean_ccm_problems_total reason=LoadBalancerErrored": 0,
	} {
		parts := strings.Fields(name)
		if got := valueOf(families, parts[0], parts[1:]...); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{
		"digitalocean_ccm_sync_duration_seconds kind=load_balancer result=success", "digitalocean_ccm_sync_duration_seconds kind=node result=success",
		"digitalocean_ccm_api_quota_remaining", "workqueue_adds_total", "rest_client_requests_total", "go_goroutines", "process_resident_memory_bytes",
	} {
		parts := strings.Fields(name)
		if got := valueOf(families, parts[0], parts[1:]...); got < 1 {
			t.Errorf("%s is %v, want more than 0", name, got)
		}
	}
	checkDocumented(t, families)
}

// checkDocumented checks that every metric of ours is documented as it is.
func checkDocumented(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	documented := documentedMetrics(t)
	for name, family := range families {
		if !strings.HasPrefix(name, "digitalocean_") && !strings.HasPrefix(name, "firewall_") {
			continue
		}
		want, ok := documented[name]
		if kind := strings.ToLower(family.GetType().String()); !ok || kind != want[0] {
			t.Errorf("%s is a %s, and documented as %q", name, kind, want[0])
		}
		if n := len(family.GetMetric()); n > 100 {
			t.Errorf("%s has %d series for one Node and one Service", name, n)
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if !strings.Contains(want[1], "`"+label.GetName()+"`") {
					t.Errorf("%s has the label %s, which isn't documented", name, label.GetName())
				}
			}
		}
	}
}

func TestStateOfServicesIsShown(t *testing.T) {
	debug := harness.FreeAddress(t)
	e, droplet := startWithNode(t, nil, variable("DEBUG_ADDR", debug), driftEvery("5s"))
	e.addService("web", nil)
	_, lb := e.balanced("web")
	web := e.eventuallyShows(debug, "web", "settled", func(s state.Service) bool { return s.Standing == state.StandingSettled })
	if web.LoadBalancer.ID != lb.ID || web.LoadBalancer.Name != lb.Name || !slices.Equal(web.LoadBalancer.Addresses, []string{lb.IP}) || web.LoadBalancer.Droplets != 1 {
		t.Errorf("the load balancer %s (%s) of %s is shown as %+v", lb.ID, lb.Name, lb.IP, web.LoadBalancer)
	}
	if web.Change == "" || web.Changed.IsZero() || !web.AwaySince.IsZero() {
		t.Errorf("a Service whose load balancer was just made is shown as %+v", web)
	}

	e.mayWarn("LoadBalancerConfigError", "LoadBalancerImmutable", "SyncLoadBalancerFailed", "AnnotationWarning")
	e.addService("bad", annotated("protocol", "gopher"))
	bad := e.eventuallyShows(debug, "bad", "invalid", func(s state.Service) bool { return s.Standing == state.StandingInvalid })
	if !strings.Contains(bad.Error, "gopher") || bad.Result != state.ResultUser || bad.AwaySince.IsZero() {
		t.Errorf("an invalid Service is shown as %+v", bad)
	}
	e.patchService("web", `{"metadata":{"annotations":{"service.beta.kubernetes.io/do-loadbalancer-size-unit":"3","service.beta.kubernetes.io/do-loadbalancer-type":"REGIONAL"}}}`)
	web = e.eventuallyShows(debug, "web", "to differ for good", func(s state.Service) bool { return s.Standing == state.StandingDiffers })
	if !slices.ContainsFunc(web.Differences, func(d state.Difference) bool { return d.Field == "type" && d.Fixed }) {
		t.Errorf("a type that can't be changed is shown as %+v", web.Differences)
	}

	report := e.state(debug)
	if report.Services[0].Name != "bad" || len(report.Services) != 2 {
		t.Errorf("what has been away for longest comes first: %+v", report.Services)
	}
	if n := report.Nodes; len(n) != 1 || n[0].DropletID != droplet.ID || n[0].State != "initialized" || len(n[0].Addresses) == 0 || !n[0].AwaySince.IsZero() {
		t.Errorf("Nodes are shown as %+v", n)
	}
	if a := report.API; !a.OK || a.Limit == 0 || a.Remaining == 0 || a.MinuteUsed == 0 || a.MinuteLimit == 0 {
		t.Errorf("the API is shown as %+v", a)
	}
	if !report.Leads || report.Region != "nyc3" || len(report.Snapshots) != 2 || len(report.Controllers) < 2 {
		t.Errorf("the manager is shown as %+v", report)
	}
	_, page, err := e.get("http://" + debug + "/debug/state?format=html")
	if err != nil || !strings.Contains(page, lb.ID) || !strings.Contains(page, "default/bad") || strings.Contains(page, token) {
		t.Errorf("%v, the page is\n%s", err, page)
	}

	for _, name := range []string{"web", "bad"} {
		e.deleteService(name)
		e.eventually(60*time.Second, name+" is gone", e.gone(name))
	}
	e.eventually(10*time.Second, "nothing is shown of what is gone", func() error {
		if left := e.state(debug).Services; len(left) > 0 {
			return fmt.Errorf("%+v", left)
		}
		return nil
	})
}

func TestReplicaThatStandsByIsSeen(t *testing.T) {
	e, _ := startWithNode(t, nil)
	metrics, debug := harness.FreeAddress(t), harness.FreeAddress(t)
	e.variables["METRICS_ADDR"], e.variables["DEBUG_ADDR"] = metrics, debug
	second, err := sandbox.StartManager(e.ctx, sandbox.ManagerOptions{Binary: programs.Manager, Kubeconfig: e.kubeconfig, Env: e.env(), Args: []string{"--v=2"}, Log: &e.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Kill() })
	e.eventually(30*time.Second, "ready", e.answers("http://"+debug+"/readyz", 200))
	families := e.scrape(metrics)
	if leader, build := valueOf(families, "digitalocean_ccm_leader"), valueOf(families, "digitalocean_ccm_build_info"); leader != 0 || build != 1 {
		t.Errorf("leader %v, build info %v", leader, build)
	}
	if n := valueOf(families, "digitalocean_ccm_nodes"); n != -1 {
		t.Errorf("a replica that knows of no Nodes counts %v", n)
	}
	checkDocumented(t, families)
	if report := e.state(debug); report.Leads || len(report.Nodes) > 0 || !report.API.OK {
		t.Errorf("the state is %+v", report)
	}
	// The other one ends; this one takes over and knows the objects.
	if err := e.manager.Stop(); err != nil {
		t.Fatal(err)
	}
	e.eventually(60*time.Second, "the other replica leads", func() error {
		families := e.scrape(metrics)
		if leader, nodes := valueOf(families, "digitalocean_ccm_leader"), valueOf(families, "digitalocean_ccm_nodes", "state=initialized"); leader != 1 || nodes != 1 {
			return fmt.Errorf("leader %v, nodes %v", leader, nodes)
		}
		return nil
	})
}

func TestListenersThatCanNotBeAreAnErrorAtStart(t *testing.T) {
	e := prepare(t, nil)
	inUse := strings.TrimPrefix(e.api.URL(), "http://")
	for _, name := range []string{"METRICS_ADDR", "DEBUG_ADDR"} {
		for _, address := range []string{inUse, "nowhere", "203.0.113.1:9100"} {
			t.Run(name+" "+address, func(t *testing.T) {
				command := exec.CommandContext(e.ctx, programs.Manager, "--kubeconfig="+e.kubeconfig,
					"--authentication-kubeconfig="+e.kubeconfig, "--authorization-kubeconfig="+e.kubeconfig, "--secure-port=0")
				command.Env = append(e.env(), name+"="+address)
				output, err := command.CombinedOutput()
				if err == nil || !bytes.Contains(output, []byte(name)) || bytes.Contains(output, []byte(token)) {
					t.Errorf("%v, said:\n%s", err, output)
				}
			})
		}
	}
}
