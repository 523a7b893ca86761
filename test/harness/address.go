package harness

import (
	"net"
	"testing"
)

// FreeAddress is one of the loopback address where nobody listens at the moment.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
