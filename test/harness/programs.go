package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"digitalocean-cloud-controller-manager/internal/controlplane"
)

// module is the path under which the programs are built.
const module = "digitalocean-cloud-controller-manager"

// Programs are the things under test and what they run against.
type Programs struct {
	Manager         string
	AdmissionServer string
	CCMCtl          string
	Assets          controlplane.Assets
}

// Build builds the programs into the directory, with the race detector where
// asked, and has the control plane ready, which takes minutes the first time.
func Build(ctx context.Context, directory string, race bool) (Programs, error) {
	assets, err := controlplane.Ensure(ctx, controlplane.Options{Progress: os.Stderr})
	if err != nil {
		return Programs{}, fmt.Errorf("control plane: %w", err)
	}
	p := Programs{
		Manager:         filepath.Join(directory, module),
		AdmissionServer: filepath.Join(directory, module+"-admission-server"),
		CCMCtl:          filepath.Join(directory, "ccmctl"),
		Assets:          assets,
	}
	args := []string{"build"}
	if race {
		args = append(args, "-race")
	}
	args = append(args, "-o", directory+string(filepath.Separator))
	for _, program := range []string{p.Manager, p.AdmissionServer, p.CCMCtl} {
		args = append(args, module+"/cmd/"+filepath.Base(program))
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return Programs{}, fmt.Errorf("build: %w", err)
	}
	return p, nil
}
