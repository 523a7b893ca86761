package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// APIServer serves an http.Handler, usually a simulator, on a free port of the
// loopback address.
type APIServer struct {
	server *http.Server
	url    string
	done   chan struct{}
}

// StartAPI serves the handler. The caller stops it with Stop.
func StartAPI(ctx context.Context, handler http.Handler) (*APIServer, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", hostPort(0))
	if err != nil {
		return nil, fmt.Errorf("serve the simulator: %w", err)
	}
	s := &APIServer{
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second},
		url:    "http://" + l.Addr().String(),
		done:   make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		// It returns when Stop closes the listener; whoever calls sees any other
		// end as a refused connection.
		_ = s.server.Serve(l)
	}()
	return s, nil
}

// URL of the server, without a path.
func (s *APIServer) URL() string { return s.url }

// Stop closes the listener and all connections.
func (s *APIServer) Stop() error {
	err := s.server.Close()
	<-s.done
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("stop the simulator: %w", err)
	}
	return nil
}
