package chaos

import (
	"context"
	"fmt"
	"os"
	"testing"

	"digitalocean-cloud-controller-manager/test/harness"
)

// programs are the things under test and what they run against.
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
	directory, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(directory)
	if programs, err = harness.Build(context.Background(), directory, os.Getenv("CHAOS_RACE") == "true"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
