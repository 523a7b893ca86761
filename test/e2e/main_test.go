package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
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
	code := m.Run()
	if unused := unusedRights(); ranAll() && len(unused) > 0 {
		return 1, fmt.Errorf("the roles grant what no test used:\n%s", strings.Join(unused, "\n"))
	}
	return code, nil
}
