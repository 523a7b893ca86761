package harness

import (
	"context"
	"errors"
	"net"
	"sync"

	"k8s.io/client-go/util/connrotation"
)

var errTestIsOver = errors.New("the test that this client is of is over")

// gate makes the connections of one test's clients, and ends them all.
type gate struct {
	mu     sync.RWMutex
	dialer *connrotation.Dialer
	closed bool
}

func newGate() *gate { return &gate{dialer: connrotation.NewDialer((&net.Dialer{}).DialContext)} }

// DialContext is for [k8s.io/client-go/rest.Config].
func (g *gate) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.RLock() // until the dialer knows the connection
	defer g.mu.RUnlock()
	if g.closed {
		return nil, errTestIsOver
	}
	return g.dialer.DialContext(ctx, network, address)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.dialer.CloseAll()
}
