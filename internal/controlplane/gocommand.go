package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// killDelay is how long an interrupted go command may take to clean up
	// behind itself.
	killDelay = 10 * time.Second
	// tailLines is how much of the go command's output an error quotes.
	tailLines = 20
)

// goCommand runs the go command.
type goCommand struct {
	path string
	dir  string
}

func findGo(dir string) (goCommand, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return goCommand{}, fmt.Errorf("%w: install Go from go.dev, or set %s to a folder with %s, %s and %s, or %s=%s",
			ErrNoGo, EnvAssets, etcd, kubeAPIServer, kubectl, EnvMode, modeDownload)
	}
	return goCommand{path: path, dir: dir}, nil
}

// output runs the command and returns what it wrote to standard output. Lines
// of standard error that seen does not recognise are quoted if the command
// fails. When the context ends, the command and its children are stopped.
func (g goCommand) output(ctx context.Context, seen func(line string) bool, args ...string) (string, error) {
	var stdout bytes.Buffer
	stderr := &lineWriter{seen: seen}
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(),
		"CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOWORK=off", "PWD="+g.dir)
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	// A group of its own, so that the compilers which it starts end with it.
	// Interrupted, the go command removes its temporary files.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often nobody is left
		}
		return "", fmt.Errorf("go %s: %w", args[0], context.Cause(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args[:min(2, len(args))], " "), err, stderr.tail())
	}
	return stdout.String(), nil
}

// lineWriter hands each whole line to seen and remembers the last ones that it
// doesn't recognise.
type lineWriter struct {
	seen    func(line string) bool
	partial []byte
	last    []string
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.partial = append(w.partial, p...)
	for {
		line, rest, found := bytes.Cut(w.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.line(string(line))
		w.partial = rest
	}
}

func (w *lineWriter) line(line string) {
	if w.seen != nil && w.seen(line) {
		return
	}
	w.last = append(w.last, line)
	w.last = w.last[max(0, len(w.last)-tailLines):]
}

func (w *lineWriter) tail() string {
	if len(w.partial) > 0 {
		w.line(string(w.partial))
		w.partial = nil
	}
	return strings.Join(w.last, "\n")
}
