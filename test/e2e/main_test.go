package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"digitalocean-cloud-controller-manager/internal/controlplane"
)

// programs are the things under test and what they run against.
var programs struct {
	manager string
	ccmctl  string
	assets  controlplane.Assets
}

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
	if programs.assets, err = controlplane.Ensure(context.Background(), controlplane.Options{Progress: os.Stderr}); err != nil {
		return 1, fmt.Errorf("control plane: %w", err)
	}
	// The race detector watches the manager as well.
	build := exec.Command("go", "build", "-race", "-o", directory+string(filepath.Separator),
		"digitalocean-cloud-controller-manager/cmd/digitalocean-cloud-controller-manager",
		"digitalocean-cloud-controller-manager/cmd/ccmctl")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("build: %w", err)
	}
	programs.manager = filepath.Join(directory, "digitalocean-cloud-controller-manager")
	programs.ccmctl = filepath.Join(directory, "ccmctl")
	return m.Run(), nil
}
