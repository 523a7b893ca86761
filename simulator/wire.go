package simulator

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
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

// tricklePieces is in how many pieces a body trickles, at most.
const tricklePieces = 20

// trickle writes an answer whose body takes its time, or as much of it as the
// client waits for.
func trickle(ctx context.Context, w http.ResponseWriter, answer reply, over time.Duration) {
	if len(answer.body) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(answer.body)))
	}
	writeHead(w, answer)
	pieces := slices.Collect(slices.Chunk(answer.body, max(1, (len(answer.body)+tricklePieces-1)/tricklePieces)))
	for i, piece := range pieces {
		// The difference of two shares, so that all together take exactly that long.
		share := over*time.Duration(i+1)/time.Duration(len(pieces)) - over*time.Duration(i)/time.Duration(len(pieces))
		// Writers without a connection have nothing to flush.
		_ = http.NewResponseController(w).Flush()
		if !pause(ctx, share) {
			return
		}
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}
