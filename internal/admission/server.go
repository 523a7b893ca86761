package admission

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/debugserver"
)

const (
	readTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
	// drainTimeout is longer than any request takes.
	drainTimeout = 10 * time.Second
)

// Certificates give the server's certificate.
type Certificates interface {
	Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready fails while clients can't trust the certificate.
	Ready(context.Context) error
}

// Server serves the webhook with TLS, and /healthz and /readyz beside it.
type Server struct {
	// Address is the host:port to listen on.
	Address      string
	Webhook      http.Handler
	Certificates Certificates
	// Ready fails while requests can't be judged; nil: they can.
	Ready debugserver.Check
	// ShutdownDelay is how long it goes on after the context ended, not ready,
	// until nobody is sent to it any more.
	ShutdownDelay time.Duration
	Clock         clock.Clock

	stopping atomic.Bool
}

var errStopping = errors.New("stopping")

// ReadyCheck tells whether requests should be sent here.
func (s *Server) ReadyCheck(ctx context.Context) error {
	if s.stopping.Load() {
		return errStopping
	}
	if err := s.Certificates.Ready(ctx); err != nil {
		return err
	}
	if s.Ready != nil {
		return s.Ready(ctx)
	}
	return nil
}

// Run listens and serves until the context ends and every request is answered.
func (s *Server) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen for the webhook: %w", err)
	}
	logger := klog.FromContext(ctx)
	server := s.httpServer(ctx)
	done := make(chan error, 1)
	go func() { done <- server.ServeTLS(listener, "", "") }()
	logger.Info("Listening", "name", "webhook", "address", listener.Addr().String())
	select {
	case err := <-done:
		return fmt.Errorf("serve the webhook: %w", err)
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	logger.Info("Stopping", "delay", s.ShutdownDelay)
	<-s.Clock.After(s.ShutdownDelay)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return fmt.Errorf("stop the webhook: %w", err)
	}
	return nil
}

func (s *Server) httpServer(ctx context.Context) *http.Server {
	mux := http.NewServeMux()
	mux.Handle(Path, s.Webhook)
	mux.Handle("/healthz", debugserver.Handler(func(context.Context) error { return nil }))
	mux.Handle("/readyz", debugserver.Handler(s.ReadyCheck))
	// Requests outlive the signal to stop.
	base := context.WithoutCancel(ctx)
	return &http.Server{
		Handler:           mux,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.Certificates.Certificate},
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		// Handshakes of strangers and probes that hang up are no news.
		ErrorLog: klog.NewStandardLogger("INFO"),
	}
}
