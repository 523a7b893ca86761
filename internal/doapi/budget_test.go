package doapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// quotaHeaders are those of an answer with remaining of 5,000 left.
func quotaHeaders(remaining string, extra ...string) []string {
	return append([]string{"RateLimit-Limit: 5000", "RateLimit-Remaining: " + remaining}, extra...)
}

func TestRateLimitPausesAllCallersOnceTogether(t *testing.T) {
	tests := map[string]struct {
		body    string
		headers []string
		want    time.Duration
	}{
		"minute":      {body: tooMany, headers: quotaHeaders("0", "Retry-After: 17"), want: 17 * time.Second},
		"hour":        {body: tooMany, headers: quotaHeaders("0"), want: time.Minute},
		"by the edge": {body: "<html><title>Too many</title></html>", headers: []string{"Retry-After: 5"}, want: 5 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				rt := answers(answer(429, tc.body, tc.headers...), answer(200, accountBody, quotaHeaders("4000")...))
				client := clientOn(t, rt)
				ctx, log := withLog(t.Context(), 0)
				if err := get(withPolicy(ctx, retryPolicy{attempts: 1}), client); Classify(err) != ClassThrottled {
					t.Fatalf("error %v, want a throttled one", err)
				}
				if got := client.Quota().PausedUntil.Sub(start); got != tc.want {
					t.Fatalf("paused for %s, want %s", got, tc.want)
				}
				var callers sync.WaitGroup
				for i := range 30 {
					callers.Go(func() {
						if err := get(WithPriority(ctx, Priority(i%priorities)), client); err != nil {
							t.Error(err)
						}
					})
				}
				callers.Wait()
				if took := time.Since(start); took > tc.want+time.Second {
					t.Errorf("the last call came through after %s: it was not woken", took)
				}
				sent := rt.requests()
				if len(sent) != 31 {
					t.Fatalf("%d requests, want 31: none twice, none refused twice", len(sent))
				}
				for _, r := range sent[1:] {
					if waited := r.at.Sub(start); waited < tc.want {
						t.Fatalf("a request went out after %s, within the pause", waited)
					}
				}
				if log.lines("all calls pause") != 1 || log.lines("allows calls again") != 1 {
					t.Error("the pause was not logged once at each end:", log)
				}
				if !client.Quota().PausedUntil.IsZero() {
					t.Error("the pause is still on")
				}
				if h := client.Health(); !h.OK {
					t.Error("a throttled API counts as unhealthy:", h)
				}
			})
		})
	}
}

func TestOnlyOneCallProbesAfterThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent, most, now atomic.Int32
		start := time.Now()
		client := clientOn(t, network(func(*http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(300 * time.Millisecond) // the way to the API
			if sent.Add(1) <= 3 {
				return reply(429, tooMany, "Retry-After: 10", "RateLimit-Remaining: 0"), nil
			}
			return reply(200, accountBody, quotaHeaders("4000")...), nil
		}))
		_ = get(withPolicy(t.Context(), retryPolicy{attempts: 1}), client)
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() { _ = get(t.Context(), client) })
		}
		time.Sleep(25 * time.Second) // two probes in vain
		if sent.Load() != 3 || most.Load() != 1 {
			t.Errorf("%d requests, %d at once, while the limit held; want 3, one by one", sent.Load(), most.Load())
		}
		callers.Wait()
		// The third probe goes out at about 31 s.
		if took := time.Since(start); took > 33*time.Second {
			t.Errorf("the last call came through after %s: it was not woken by the probe's answer", took)
		}
	})
}

func TestCallThatCannotWaitFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(answer(429, tooMany, "Retry-After: 30"))
		client := clientOn(t, rt)
		_ = get(withPolicy(t.Context(), retryPolicy{attempts: 1}), client)
		start := time.Now()
		ctx, cancel := context.WithTimeout(WithPriority(t.Context(), Urgent), 29*time.Second)
		defer cancel()
		err := get(ctx, client)
		var throttled *ThrottledError
		if !errors.As(err, &throttled) || !errors.Is(err, ErrThrottled) || Classify(err) != ClassThrottled {
			t.Fatalf("error %v, want a ThrottledError", err)
		}
		if throttled.Priority != Urgent || throttled.Until.Sub(start) != 30*time.Second {
			t.Errorf("%+v", throttled)
		}
		if time.Since(start) != 0 || rt.count() != 1 {
			t.Errorf("it waited %s and sent %d requests", time.Since(start), rt.count()-1)
		}
	})
}

func TestCallThatDoesNotWaitIsSentOrRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rt := answers(answer(200, accountBody, quotaHeaders("4000")...), answer(429, tooMany, quotaHeaders("0", "Retry-After: 3")...), answer(200, accountBody, quotaHeaders("4000")...))
		client := clientOn(t, rt)
		ctx := withPolicy(WithoutWaiting(t.Context()), retryPolicy{attempts: 1})
		if err := get(ctx, client); err != nil {
			t.Fatal(err)
		}
		_ = get(ctx, client) // 429
		err := get(ctx, client)
		var throttled *ThrottledError
		if !errors.As(err, &throttled) || throttled.Until.Sub(start) != 3*time.Second || time.Since(start) != 0 {
			t.Fatalf("after %s: %v", time.Since(start), err)
		}
		time.Sleep(3 * time.Second)
		if err := get(ctx, client); err != nil {
			t.Error("when there is quota again:", err)
		}
		if n := len(rt.requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestCallWithoutDeadlineDoesNotHangForTheHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, answers(answer(429, tooMany, "Retry-After: 1800")))
		start := time.Now()
		err := get(t.Context(), client)
		if Classify(err) != ClassThrottled || time.Since(start) > maxWait {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

func TestScarceQuotaIsLeftToTheMoreUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(answer(200, accountBody, quotaHeaders("400")...))
		client := clientOn(t, rt)
		if err := get(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := get(WithPriority(ctx, Background), client); !errors.Is(err, ErrThrottled) {
			t.Errorf("background: %v, want throttled", err)
		}
		if err := get(ctx, client); err != nil {
			t.Error("normal:", err)
		}
		if err := get(WithPriority(ctx, Urgent), client); err != nil {
			t.Error("urgent:", err)
		}
	})
}

func TestRecoveredQuotaIsFoundWithoutOtherCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(answer(200, accountBody, quotaHeaders("10")...), answer(200, accountBody, quotaHeaders("3000")...))
		client := clientOn(t, rt)
		if err := get(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				if err := get(WithPriority(t.Context(), Background), client); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if waited := time.Since(start); waited != knowledgeAge {
			t.Errorf("they waited %s, want %s", waited, knowledgeAge)
		}
	})
}

func TestMinuteBurstIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(answer(200, accountBody, quotaHeaders("4900")...))
		client := clientOn(t, rt)
		var callers sync.WaitGroup
		for i := range 600 {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(WithPriority(t.Context(), Priority(i%priorities)), 10*time.Minute)
				defer cancel()
				if err := get(ctx, client); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		sent := rt.requests()
		for i := 250; i < len(sent); i++ {
			if gap := sent[i].at.Sub(sent[i-250].at); gap < time.Minute {
				t.Fatalf("251 requests within %s", gap)
			}
		}
		if len(sent) != 600 {
			t.Errorf("%d requests, want 600", len(sent))
		}
	})
}

func TestCapOnRequestsPerSecondServesUrgentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []Priority
		client := clientOn(t, network(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, PriorityOf(req.Context()))
			return ok(), nil
		}), func(o *Options) { o.QPS = 2 })
		start := time.Now()
		var callers sync.WaitGroup
		call := func(p Priority) {
			callers.Go(func() {
				if err := get(WithPriority(t.Context(), p), client); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for _, p := range []Priority{Background, Background, Background, Normal, Urgent, Normal, Urgent} {
			call(p)
		}
		callers.Wait()
		if took := time.Since(start); took < 3*time.Second || took > 3100*time.Millisecond {
			t.Errorf("7 calls at 2 a second took %s, want 3 s", took)
		}
		want := []Priority{Background, Urgent, Urgent, Normal, Normal, Background, Background}
		for i := range want {
			if order[i] != want[i] {
				t.Fatalf("order %v, want %v", order, want)
			}
		}
	})
}

func TestWaitingCallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, answers(answer(429, tooMany, "Retry-After: 60")))
		_ = get(withPolicy(t.Context(), retryPolicy{attempts: 1}), client)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- get(ctx, client) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want canceled", err)
		}
	})
}

func TestAccountLimitIsNoRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, body := range []string{
			`{"id":"too_many_requests","message":"you have reached your limit of load balancers"}`,
			`{"id":"limit_exceeded","message":"load balancer limit reached"}`,
		} {
			rt := answers(answer(429, body, quotaHeaders("4000")...), answer(200, accountBody))
			client := clientOn(t, rt)
			if err := send(t.Context(), client, http.MethodPost); Classify(err) != ClassAccount {
				t.Errorf("%s: class %q, want account", body, Classify(err))
			}
			if rt.count() != 1 {
				t.Error("it was sent again")
			}
			start := time.Now()
			if err := get(t.Context(), client); err != nil || time.Since(start) != 0 {
				t.Errorf("another call waited %s, error %v", time.Since(start), err)
			}
		}
	})
}
