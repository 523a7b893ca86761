package controlplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// environment is a Getenv of these variables only.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func writePrograms(t *testing.T, dir string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEnsureUsesGivenPrograms(t *testing.T) {
	dir := t.TempDir()
	writePrograms(t, dir, programs()...)
	got, err := Ensure(t.Context(), Options{Getenv: environment(EnvAssets, dir), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	want := Assets{
		Dir: dir, Origin: OriginGiven,
		KubeAPIServer: filepath.Join(dir, "kube-apiserver"),
		Etcd:          filepath.Join(dir, "etcd"),
		Kubectl:       filepath.Join(dir, "kubectl"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assets (-want +got):\n%s", diff)
	}
}

func TestEnsureRefusesGivenFolderWithoutAProgram(t *testing.T) {
	dir := t.TempDir()
	writePrograms(t, dir, etcd, kubectl)
	if err := os.WriteFile(filepath.Join(dir, kubeAPIServer), nil, 0o644); err != nil { // not executable
		t.Fatal(err)
	}
	_, err := Ensure(t.Context(), Options{Getenv: environment(EnvAssets, dir), CacheDir: t.TempDir()})
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("error %v, want a MissingError", err)
	}
	if diff := cmp.Diff(&MissingError{Dir: dir, Program: kubeAPIServer}, missing); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestEnsureUsesTheCache(t *testing.T) {
	for _, mode := range []string{"", "build", "download"} {
		t.Run("mode="+mode, func(t *testing.T) {
			t.Setenv("PATH", "") // nothing can be built
			cache := t.TempDir()
			dir := filepath.Join(cache, "1.36.3-"+runtime.GOOS+"-"+runtime.GOARCH)
			writePrograms(t, dir, programs()...)
			got, err := Ensure(t.Context(), Options{Version: "v1.36.3", CacheDir: cache, Getenv: environment(EnvMode, mode)})
			if err != nil {
				t.Fatal(err)
			}
			if got.Dir != dir || got.Origin != OriginCache {
				t.Errorf("got %s from %s, want %s from the cache", got.Dir, got.Origin, dir)
			}
		})
	}
}

func TestEnsureSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"unknown mode": {
			Options{Getenv: environment(EnvMode, "docker")},
			`CONTROLPLANE: "docker" is not valid: must be build or download`,
		},
		"version that is none": {
			Options{Version: "latest", Getenv: environment()},
			`version of Kubernetes: "latest" is not valid: must be three numbers, such as 1.37.2`,
		},
		"no go command": {
			Options{Getenv: environment()},
			"the go command is not on PATH: install Go",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", "")
			tc.options.CacheDir = t.TempDir()
			_, err := Ensure(t.Context(), tc.options)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestMissingGoCommandIsRecognisable(t *testing.T) {
	t.Setenv("PATH", "")
	if _, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), Getenv: environment()}); !errors.Is(err, ErrNoGo) {
		t.Errorf("error %v, want ErrNoGo", err)
	}
}

func TestSweepRemovesOnlyLeftovers(t *testing.T) {
	dir := t.TempDir()
	writePrograms(t, dir, etcd, tempPrefix+kubectl)
	if err := os.Mkdir(filepath.Join(dir, tempPrefix+"folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := sweep(dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{etcd}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// waiting is closed when a run says that it waits for another.
type waiting struct {
	once sync.Once
	seen chan struct{}
}

func (w *waiting) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("waiting for another run that prepares 1.2.3")) {
		w.once.Do(func() { close(w.seen) })
	}
	return len(p), nil
}

func TestSecondRunWaitsForTheFirstAndSaysSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "1.2.3")
	quiet := newReporter(io.Discard)
	defer quiet.close()
	unlock, err := lockDir(t.Context(), dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	said := &waiting{seen: make(chan struct{})}
	second := newReporter(said)
	defer second.close()
	got := make(chan error, 1)
	go func() {
		unlock, err := lockDir(t.Context(), dir, second)
		if err == nil {
			unlock()
		}
		got <- err
	}()
	<-said.seen
	select {
	case err := <-got:
		t.Fatalf("the second run did not wait: %v", err)
	default:
	}
	unlock()
	if err := <-got; err != nil {
		t.Errorf("the second run did not get its turn: %v", err)
	}
}

func TestWaitingRunEndsWithItsContext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "1.2.3")
	rep := newReporter(io.Discard)
	defer rep.close()
	unlock, err := lockDir(t.Context(), dir, rep)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockDir(ctx, dir, rep); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
