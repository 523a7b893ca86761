package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"digitalocean-cloud-controller-manager/test/harness"
)

var programs harness.Programs

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	directory, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(directory)
	// The race detector watches the manager as well.
	if programs, err = harness.Build(context.Background(), directory, true); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
