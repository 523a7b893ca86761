package doapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rotating is a token source whose token can be changed.
type rotating struct {
	mu    sync.Mutex
	token Token
	err   error
}

func (r *rotating) Token(context.Context) (Token, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token, r.err
}

func (r *rotating) set(token Token, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token, r.err = token, err
}

// gate is an API that takes one token only.
type gate struct {
	mu   sync.Mutex
	good string
	sent []string
}

func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = append(g.sent, secretOf(req))
	if secretOf(req) != g.good {
		return reply(401, refused), nil
	}
	return ok(), nil
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sent)
}

func TestRefusedTokenIsTriedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &gate{good: "another-token"}
		client := clientOn(t, api)
		if err := get(t.Context(), client); Classify(err) != ClassAccount || ErrorID(err) != "unauthorized" {
			t.Fatalf("error %v", err)
		}
		for second := range 150 {
			if err := get(t.Context(), client); Classify(err) != ClassAccount {
				t.Fatalf("after %d s: %v", second, err)
			}
			if second == 0 && api.count() != 1 {
				t.Error("the refused token was sent again at once")
			}
			time.Sleep(time.Second)
		}
		if got := api.count(); got != 3 {
			t.Errorf("%d requests within 150 s, want the first and two probes", got)
		}
		if h := client.Health(); h.OK || h.Class != ClassAccount || h.Message != unauthorizedMessage {
			t.Errorf("health %+v", h)
		}
		api.mu.Lock()
		api.good = testSecret // the account is unlocked
		api.mu.Unlock()
		time.Sleep(time.Minute)
		for range 3 {
			if err := get(t.Context(), client); err != nil {
				t.Error("after recovery:", err)
			}
		}
		if h := client.Health(); !h.OK {
			t.Errorf("health %+v", h)
		}
	})
}

func TestLocalRefusalSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, &gate{})
		_ = get(t.Context(), client)
		err := get(t.Context(), client)
		if !errors.Is(err, ErrUnauthorized) || Message(err) != unauthorizedMessage {
			t.Errorf("%v (%s)", err, Message(err))
		}
	})
}

func TestAnotherTokenIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := withLog(t.Context(), 0)
		api := &gate{good: "second-token"}
		source := &rotating{token: mustToken(t, "first-token")}
		client := clientOn(t, api, func(o *Options) { o.TokenSource = source })
		_ = get(ctx, client)
		_ = get(ctx, client)
		source.set(mustToken(t, "second-token"), nil)
		if err := get(ctx, client); err != nil {
			t.Error("with the new token:", err)
		}
		if err := get(ctx, client); err != nil || api.count() != 3 {
			t.Errorf("%d requests, error %v", api.count(), err)
		}
		if log.lines("can't be used") != 1 || log.lines("can be used again") != 1 {
			t.Error("the change was not logged once each way:", log)
		}
	})
}

func TestLateRefusalOfAnOldTokenDoesNotStopTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &rotating{token: mustToken(t, "first-token")}
		client := clientOn(t, network(func(req *http.Request) (*http.Response, error) {
			if secretOf(req) == "first-token" {
				time.Sleep(5 * time.Second)
				return reply(401, refused), nil
			}
			return ok(), nil
		}), func(o *Options) { o.TokenSource = source })
		var old sync.WaitGroup
		old.Go(func() { _ = get(t.Context(), client) })
		synctest.Wait()
		source.set(mustToken(t, "second-token"), nil)
		old.Wait()
		if err := get(t.Context(), client); err != nil {
			t.Error(err)
		}
	})
}

func TestProbeThatWasNotSentIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(
			answer(401, refused),
			answer(429, tooMany, "Retry-After: 100"),
			answer(200, accountBody),
		)
		client := clientOn(t, rt)
		_ = get(t.Context(), client)
		time.Sleep(time.Minute)
		once := withPolicy(t.Context(), retryPolicy{attempts: 1})
		_ = get(once, client) // the probe runs into the rate limit
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(once, time.Second)
		defer cancel()
		if err := get(ctx, client); !errors.Is(err, ErrThrottled) {
			t.Fatalf("error %v, want throttled", err)
		}
		time.Sleep(40 * time.Second)
		if err := get(once, client); err != nil {
			t.Error("the next probe:", err)
		}
	})
}

func TestMissingTokenIsTheAccountsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &rotating{err: errors.New("stat token file: no such file")}
		rt := answers(answer(200, accountBody))
		client := clientOn(t, rt, func(o *Options) { o.TokenSource = source })
		err := get(t.Context(), client)
		if !errors.Is(err, ErrNoToken) || Classify(err) != ClassAccount || rt.count() != 0 {
			t.Errorf("%d requests, error %v", rt.count(), err)
		}
		const want = "no token for the DigitalOcean API: stat token file: no such file"
		if h := client.Health(); h.OK || h.Class != ClassAccount || h.Message != want {
			t.Errorf("health %+v", h)
		}
		source.set(Token{}, nil)
		if err := get(t.Context(), client); !errors.Is(err, ErrNoToken) {
			t.Errorf("zero token: %v", err)
		}
		source.set(mustToken(t, testSecret), nil)
		if err := get(t.Context(), client); err != nil || !client.Health().OK {
			t.Errorf("with a token: %v, %+v", err, client.Health())
		}
	})
}
