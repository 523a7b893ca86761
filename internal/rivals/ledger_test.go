package rivals

import (
	"errors"
	"net/http"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func send(t *testing.T, l *Ledger, method, path string, answer roundTrip) {
	t.Helper()
	req, err := http.NewRequest(method, "https://api.test"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", own+"/v1.0 (linux/amd64) kubernetes/abc/service-controller")
	resp, err := l.Wrap(answer).RoundTrip(req)
	if err == nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
}

func dated(at time.Time) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Date": {at.UTC().Format(http.TimeFormat)}}}, nil
	}
}

func lost(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }

func TestTheLedgerKnowsWhatIsWrittenWhere(t *testing.T) {
	at := begun.Add(time.Minute)
	for name, test := range map[string]struct {
		method, path                string
		resource, name, subresource string
		noted                       bool
	}{
		"status of a Service":         {"PATCH", "/api/v1/namespaces/a/services/web/status", "services", "a/web", "status", true},
		"Service":                     {"PATCH", "/api/v1/namespaces/a/services/web", "services", "a/web", "", true},
		"Node":                        {"PUT", "/api/v1/nodes/w", "nodes", "w", "", true},
		"behind a prefix":             {"PATCH", "/k8s/clusters/c/api/v1/nodes/w/status", "nodes", "w", "status", true},
		"a read":                      {"GET", "/api/v1/nodes/w", "nodes", "w", "", false},
		"a Service in a namespace of": {"PATCH", "/api/v1/namespaces/services/configmaps/x", "services", "x", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(testingclock.NewFakePassiveClock(begun))
			send(t, l, test.method, test.path, dated(at))
			last, sure := l.Wrote(test.resource, test.name, test.subresource)
			if !sure || last.Equal(at) != test.noted {
				t.Errorf("%s, %v", last, sure)
			}
			if test.noted && l.As() != own {
				t.Errorf("as %q", l.As())
			}
		})
	}
}

func TestTheLedgerIsUnsureUntilAnAnswerComes(t *testing.T) {
	l := NewLedger(testingclock.NewFakePassiveClock(begun))
	sure := func() bool {
		_, sure := l.Wrote("nodes", "w", "")
		return sure
	}
	send(t, l, "PATCH", "/api/v1/nodes/w", func(req *http.Request) (*http.Response, error) {
		if sure() {
			t.Error("sure while a write is under way")
		}
		return lost(req)
	})
	if sure() {
		t.Error("sure after a write without an answer")
	}
	l.Forget(begun)
	send(t, l, "PATCH", "/api/v1/nodes/w", dated(begun))
	if !sure() {
		t.Error("unsure after an answer")
	}
	l.Forget(begun.Add(time.Second))
	if last, _ := l.Wrote("nodes", "w", ""); !last.IsZero() {
		t.Error("it remembers what ended long ago")
	}
}

func TestTheBeginningIsTheAPIServersTimeAlsoWhenItAnswersLater(t *testing.T) {
	l := NewLedger(testingclock.NewFakePassiveClock(begun))
	l.Begin()
	for range 2 {
		send(t, l, "GET", "/api/v1/nodes", dated(begun.Add(10*time.Minute)))
	}
	if got := l.Times(); !got.Begun.Equal(begun.Add(10 * time.Minute)) {
		t.Error(got)
	}
}

func TestTimesAreTheAPIServers(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(begun)
	l := NewLedger(clock)
	send(t, l, "GET", "/api/v1/nodes", dated(begun.Add(10*time.Minute)))
	l.Begin()
	clock.SetTime(begun.Add(time.Hour))
	if got := l.Times(); !got.Begun.Equal(begun.Add(10*time.Minute)) || !got.Now.Equal(begun.Add(70*time.Minute)) {
		t.Error(got)
	}
}
