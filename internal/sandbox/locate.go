package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ManagerName is the file name of the manager's program.
const ManagerName = "digitalocean-cloud-controller-manager"

// FindManager returns the path of the manager's program: the given one, else
// the one beside the running program, else the one on PATH.
func FindManager(given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("--manager: %w", err)
		}
		return filepath.Abs(path)
	}
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the manager: %w", err)
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(exe), ManagerName)); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(ManagerName)
	if err != nil {
		return "", fmt.Errorf("there is no program %s beside %s or on PATH: give its path with --manager", ManagerName, exe)
	}
	return filepath.Abs(path)
}
