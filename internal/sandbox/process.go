package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	etcdProcess      = "etcd"
	apiServerProcess = "kube-apiserver"
)

// processScript writes down its process's number and becomes the program: envtest
// keeps the number to itself.
const processScript = `#!/bin/sh
echo $$ >'%s'
exec '%s' "$@"
`

// wrap writes the script that starts a program, and returns its path.
func wrap(dir, name, program string) (string, error) {
	path := filepath.Join(dir, name+".sh")
	text := fmt.Sprintf(processScript, quoted(pidFile(dir, name)), quoted(program))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		return "", fmt.Errorf("write what starts %s: %w", name, err)
	}
	return path, nil
}

// quoted is a text for single quotes of a shell.
func quoted(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

func pidFile(dir, name string) string { return filepath.Join(dir, name+".pid") }

// signal signals one of the processes.
func (c *ControlPlane) signal(name string, signal syscall.Signal) error {
	text, err := os.ReadFile(pidFile(c.dir, name))
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("find %s: its process is said to be %q", name, text)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("signal %s: %w", name, err)
	}
	return nil
}

// PauseEtcd has etcd keep its connections and answer nothing, as on a disk that
// hangs, so that kube-apiserver can write nothing. ResumeEtcd or Stop end that. It
// needs [ControlPlaneOptions].Signals.
func (c *ControlPlane) PauseEtcd() error { return c.signal(etcdProcess, syscall.SIGSTOP) }

// ResumeEtcd has etcd go on after PauseEtcd. What waited for it is done then.
func (c *ControlPlane) ResumeEtcd() error { return c.signal(etcdProcess, syscall.SIGCONT) }

// wakeEtcd makes sure that etcd can hear that it shall end. There may be none
// yet, or any more.
func (c *ControlPlane) wakeEtcd() error {
	if err := c.ResumeEtcd(); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
