package simulator

import (
	"context"
	"net"
	"net/http"
	"time"
)

// pause waits in real time; false means that the client has gone meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// cut ends the connection in the middle of an answer, with a reset where there
// is a TCP connection to reset.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// HTTP/2 and in-memory writers: the server aborts the stream itself.
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	// Whether these succeed does not matter to a connection that is given up.
	_, _ = conn.Write([]byte("H"))
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}
