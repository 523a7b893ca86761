package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"digitalocean-cloud-controller-manager/internal/openapitest"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	steps    = 16000
	tokenAll = "dop_v1_0123456789abcdef"
	readOnly = "dop_v1_readonly00000000"
)

// walk asks one random thing after the other of a simulator.
type walk struct {
	*testing.T
	sim         *simulator.Simulator
	clock       *clocktesting.FakePassiveClock
	random      *rand.Rand
	description *openapitest.Description
	// seen counts the answers by operation and class of status: 2 or 4.
	seen map[string]map[int]int
	// actions are those that were begun.
	actions []begun
	// names makes names that are new.
	names int
}

func newWalk(t *testing.T, d *openapitest.Description, seed uint64) *walk {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	w := &walk{
		T: t, clock: clock, description: d, random: rand.New(rand.NewPCG(seed, seed)), seen: map[string]map[int]int{},
		sim: simulator.New(
			simulator.WithClock(clock), simulator.WithSeed(int64(seed)), simulator.WithRateLimit(0, 300),
			simulator.WithToken(tokenAll, "blue"), simulator.WithToken(readOnly, "blue", "*:read"),
			simulator.WithLoadBalancerActivation(20*time.Second), simulator.WithDropletActivation(10*time.Second),
			simulator.WithActionDuration(5*time.Second), simulator.WithFirewallActivation(3*time.Second),
			simulator.WithCertificateVerification(15*time.Second), simulator.WithBusyWindow(2*time.Second),
			simulator.WithLimits(simulator.Limits{Droplets: 40, LoadBalancers: 15, Firewalls: 12, ReservedIPs: 12, Volumes: 12}),
		),
	}
	for range 3 {
		w.sim.AddDroplet(simulator.DropletSpec{Region: "nyc3", Tags: []string{"web"}})
	}
	w.sim.AddDroplet(simulator.DropletSpec{GPU: true, IPv6: true})
	w.sim.AddBYOIPAddress("blue", "203.0.113.250", "nyc3")
	return w
}

// begun is an action: the path where it was posted, in segments, and its id.
type begun struct {
	path []string
	id   string
}

// remember keeps the id of an action that an answer tells.
func (w *walk) remember(path string, answer []byte) {
	var got struct {
		Action struct{ ID int }
	}
	if json.Unmarshal(answer, &got) == nil && got.Action.ID != 0 {
		w.actions = append(w.actions, begun{strings.Split(path, "/"), strconv.Itoa(got.Action.ID)})
	}
}

func (w *walk) one(of ...string) string { return of[w.random.IntN(len(of))] }

// chance is true in n of 100 cases.
func (w *walk) chance(n int) bool { return w.random.IntN(100) < n }

func (w *walk) newName() string {
	w.names++
	return fmt.Sprintf("n%d", w.names)
}

// ask sends one request and checks what comes of it.
func (w *walk) ask(operation string) {
	method, pattern, _ := strings.Cut(operation, " ")
	path := w.fill(pattern)
	if query := w.query(operation); query != "" {
		path += "?" + query
	}
	body := w.body(operation)
	if w.chance(3) && body != "" {
		body = w.one("{", `{"name":1}`, `[]`, `{}`)
	}
	token := tokenAll
	switch {
	case w.chance(2):
		token = "stranger"
	case w.chance(3):
		token = readOnly
	}
	w.check(operation, method, path, token, body)
}

func (w *walk) check(operation, method, path, token, body string) {
	req, err := http.NewRequestWithContext(w.Context(), method, "https://api.example.com"+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.sim.Transport().RoundTrip(req)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	class := resp.StatusCode / 100
	if w.seen[operation] == nil {
		w.seen[operation] = map[int]int{}
	}
	w.seen[operation][class]++
	if class == 5 {
		w.Errorf("%s %s %s: %d", method, path, body, resp.StatusCode)
	}
	if err := w.description.Response(req, resp.StatusCode, resp.Header, answer); err != nil {
		w.Errorf("answer %d to %s %s: %v\nsent: %s\nanswered: %s", resp.StatusCode, method, path, shorten(err), body, answer)
	}
	// What is accepted has to be legal.
	if class != 2 {
		return
	}
	if method == http.MethodPost && strings.HasSuffix(path, "/actions") {
		w.remember(path, answer)
	}
	if err := w.description.Request(req, []byte(body)); err != nil {
		w.Errorf("accepted %s %s: %v\nsent: %s", method, path, shorten(err), body)
	}
}

// shorten leaves out the schema that an error repeats.
func shorten(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\nSchema:")
	return text
}

// fill puts ids into a path, mostly of what there is.
func (w *walk) fill(pattern string) string {
	segments := strings.Split(pattern, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = url.PathEscape(w.id(segments[i-1], segments[:i]))
		}
	}
	return strings.Join(segments, "/")
}

func (w *walk) query(operation string) string {
	q := url.Values{}
	if strings.HasPrefix(operation, "GET") && w.chance(30) {
		q.Set("per_page", w.one("1", "2", "20", "200"))
		q.Set("page", w.one("1", "2", "3"))
	}
	switch operation {
	case "GET /v2/droplets":
		if w.chance(50) {
			q.Set(w.one("tag_name", "name"), w.one("web", "n1", "none"))
		} else if w.chance(50) {
			q.Set("type", w.one("droplets", "gpus"))
		}
	case "GET /v2/load_balancers":
		if w.chance(50) {
			q["names"] = []string{"n1", w.one("n2", "n3")}
		} else if w.chance(30) {
			q["uuids"] = []string{w.id("load_balancers", nil), w.id("load_balancers", nil)}
		}
	case "GET /v2/certificates":
		q.Set("name", w.one("n1", "n2", "n3"))
	case "GET /v2/images":
		q.Set("type", w.one("distribution", "application"))
	case "GET /v2/snapshots":
		q.Set("resource_type", w.one("droplet", "volume"))
	case "GET /v2/volumes":
		q.Set("name", w.one("n1", "n2", "n3"))
		q.Set("region", "nyc3")
	case "DELETE /v2/volumes":
		v := w.volume()
		q.Set("name", v.Name)
		q.Set("region", "nyc3")
	case "DELETE /v2/droplets":
		q.Set("tag_name", w.one("rare", "none"))
	case "POST /v2/droplets/actions":
		q.Set("tag_name", w.one("web", "rare", "none"))
	case "GET /v2/vpcs/{id}/members":
		if w.chance(50) {
			q.Set("resource_type", "droplet")
		}
	}
	return q.Encode()
}

func TestRandomWalksThroughAllOperationsConform(t *testing.T) {
	d := openapitest.Find(t)
	seen := map[string]map[int]int{}
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed+1), func(t *testing.T) {
			w := newWalk(t, d, seed+1)
			operations := simulator.Operations()
			for step := range steps / 4 {
				w.ask(w.next(operations))
				w.clock.SetTime(w.clock.Now().Add(time.Duration(w.random.IntN(900)) * time.Millisecond))
				if step%100 == 99 {
					w.sometimes()
				}
				if t.Failed() {
					t.Fatalf("after %d steps", step+1)
				}
			}
			for _, operation := range operations {
				method, pattern, _ := strings.Cut(operation, " ")
				w.check(operation, method, w.fill(pattern), "stranger", "")
			}
			merge(seen, w.seen)
		})
	}
	if testing.Short() {
		return // one walk doesn't get everywhere
	}
	for _, operation := range simulator.Operations() {
		if seen[operation][2] == 0 || seen[operation][4] == 0 {
			t.Errorf("%s was answered %v: it has to succeed and to be refused", operation, seen[operation])
		}
	}
}

// next is any operation; load balancers are made more often, for most of what
// is asked at random of them is refused.
func (w *walk) next(operations []string) string {
	if w.chance(6) {
		return "POST /v2/load_balancers"
	}
	return operations[w.random.IntN(len(operations))]
}

func merge(into, from map[string]map[int]int) {
	for operation, classes := range from {
		if into[operation] == nil {
			into[operation] = map[int]int{}
		}
		for class, n := range classes {
			into[operation][class] += n
		}
	}
}

// sometimes does what is no operation: people and the service change things,
// and clients ask for what is not there.
func (w *walk) sometimes() {
	if w.chance(50) {
		if all := w.sim.State().Teams[0].Certificates; len(all) > 0 {
			if _, err := w.sim.RotateCertificate(all[w.random.IntN(len(all))].ID); err != nil {
				w.Error(err)
			}
		}
	}
	if all := w.sim.LoadBalancers(); len(all) > 0 && w.chance(30) {
		if err := w.sim.EditLoadBalancer(all[0].ID, func(lb *simulator.LoadBalancer) { lb.Status = w.one("errored", "active") }); err != nil {
			w.Error(err)
		}
	}
	if all := w.sim.Droplets(); len(all) > 0 && w.chance(30) {
		if err := w.sim.StopDroplet(all[w.random.IntN(len(all))].ID); err != nil {
			w.Error(err)
		}
	}
	for _, what := range []string{"GET /v2/nothing", "PATCH /v2/load_balancers/x", "POST /v2/account", "GET /v2/load_balancers/"} {
		method, path, _ := strings.Cut(what, " ")
		w.check(what, method, path, tokenAll, "")
	}
	locked, active := "locked", "active"
	w.sim.ChangeSettings(simulator.SettingsPatch{AccountStatus: &locked})
	w.check("locked", "POST", "/v2/tags", tokenAll, `{"name":"locked"}`)
	w.sim.ChangeSettings(simulator.SettingsPatch{AccountStatus: &active})
}
