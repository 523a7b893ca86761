// Package debugserver serves the manager's own plain HTTP listeners: metrics,
// health and readiness. The framework's listener needs TLS and a Kubernetes
// identity to be read; these don't.
package debugserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// readHeaderTimeout keeps idle connections from piling up.
const readHeaderTimeout = 10 * time.Second

// Serve listens at once, so that a bad address is an error at start, and serves
// until the context ends.
func Serve(ctx context.Context, name, address string, handler http.Handler) (net.Addr, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	logger := klog.FromContext(ctx)
	context.AfterFunc(ctx, func() { _ = server.Close() }) // the process ends
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Listener stopped", "name", name, "address", address)
		}
	}()
	logger.Info("Listening", "name", name, "address", listener.Addr().String())
	return listener.Addr(), nil
}

// Check answers whether something is well.
type Check func(context.Context) error

// Handler answers GET requests with 200 and "ok", or 503 and the error's text.
func Handler(check Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// Remember makes a check that is costly cheap: its answer holds for the time,
// however often it is asked. Callers at the same time wait for one answer.
func Remember(check Check, holds time.Duration, clock clock.PassiveClock) Check {
	var (
		mu  sync.Mutex
		at  time.Time
		err error
	)
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if at.IsZero() || clock.Since(at) >= holds {
			// The answer serves others too: it must not depend on whether the
			// first asker hangs up.
			err = check(context.WithoutCancel(ctx))
			at = clock.Now()
		}
		return err
	}
}
