package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// managerGrace is how long the manager may take to end after SIGTERM.
const managerGrace = 10 * time.Second

// ManagerOptions say how to run the manager.
type ManagerOptions struct {
	// Binary is the path of digitalocean-cloud-controller-manager.
	Binary string
	// Kubeconfig is the path of the file with which the manager reaches the API
	// server, also to ask who may read its metrics.
	Kubeconfig string
	// Env holds the manager's variables, as NAME=value. Of the caller's own
	// environment it sees PATH, HOME and TMPDIR only: a real token must not
	// reach it by accident.
	Env []string
	// Args come after the ones that StartManager gives, and so override them.
	Args []string
	// Log receives what the manager writes. Default: nobody.
	Log io.Writer
}

// Manager is a running manager.
type Manager struct {
	cmd    *exec.Cmd
	url    string
	done   chan struct{}
	result error // of the process; read it after done
}

// StartManager starts the manager as a process of its own, on a free port of
// the loopback address. It is stopped when the context ends, or by Stop.
func StartManager(ctx context.Context, o ManagerOptions) (*Manager, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, fmt.Errorf("start manager: %w", err)
	}
	cmd := exec.CommandContext(ctx, o.Binary, append(managerArgs(o.Kubeconfig, port), o.Args...)...)
	cmd.Env = append(baseEnvironment(os.Getenv), o.Env...)
	cmd.Stdout, cmd.Stderr = o.Log, o.Log
	// A group of its own: a terminal's Ctrl-C is for us, and we stop the manager
	// in its turn.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = managerGrace
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start manager: %w", err)
	}
	m := &Manager{cmd: cmd, url: "https://" + hostPort(port), done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.result = cmd.Wait()
	}()
	return m, nil
}

func managerArgs(kubeconfig string, port int) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=true",
	}
}

func baseEnvironment(getenv func(string) string) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// freePort returns a port of the loopback address that nobody listens on.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", hostPort(0))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}

// URL is where the manager serves /healthz and /metrics, with a certificate
// that it signs itself.
func (m *Manager) URL() string { return m.url }

// PID of the process.
func (m *Manager) PID() int { return m.cmd.Process.Pid }

// Done is closed when the process has ended.
func (m *Manager) Done() <-chan struct{} { return m.done }

// Wait waits for the process to end and returns how: nil if with code 0.
func (m *Manager) Wait() error {
	<-m.done
	return m.result
}

// Stop asks the process to end, insists after ten seconds, and waits until it
// has ended. It returns an error only if it had to insist.
func (m *Manager) Stop() error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop manager: %w", err)
	}
	timer := time.NewTimer(managerGrace)
	defer timer.Stop()
	select {
	case <-m.done:
		return nil
	case <-timer.C:
		return errors.Join(fmt.Errorf("stop manager: it did not end within %s of SIGTERM and was killed", managerGrace), m.Kill())
	}
}

// Kill ends the process at once, as a crash does, and waits until it has ended.
func (m *Manager) Kill() error {
	if err := m.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill manager: %w", err)
	}
	<-m.done
	return nil
}
