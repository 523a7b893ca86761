package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestAWrappedProgramIsTheProcessThatIsWrittenDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho $$ \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	path, err := wrap(dir, "p", program)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, "an argument", "$HOME")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(pidFile(dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(string(pid)) + " an argument $HOME\n"
	if string(out) != want || strings.TrimSpace(string(pid)) != strconv.Itoa(command.Process.Pid) {
		t.Errorf("the program wrote %q, want %q of process %d", out, want, command.Process.Pid)
	}
}
