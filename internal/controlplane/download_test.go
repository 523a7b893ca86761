package controlplane

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// archive is what envtest publishes: the programs in a folder, and more.
func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	for _, name := range append([]string{"README.md"}, names...) {
		text := "#!/bin/sh\necho " + name + "\n"
		header := &tar.Header{Name: "controller-tools/envtest/" + name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if err := files.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// publisher serves an index of versions, all with the same archive.
type publisher struct {
	*httptest.Server
	hash      string
	versions  []string
	archive   []byte
	downloads []string
}

func newPublisher(t *testing.T, archive []byte, versions ...string) *publisher {
	t.Helper()
	sum := sha512.Sum512(archive)
	p := &publisher{hash: hex.EncodeToString(sum[:]), versions: versions, archive: archive}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/index.yaml" {
		p.downloads = append(p.downloads, r.URL.Path)
		_, _ = w.Write(p.archive)
		return
	}
	fmt.Fprintln(w, "releases:")
	for _, v := range p.versions {
		fmt.Fprintf(w, "  v%s:\n", v)
		for _, os := range []string{"plan9-mips", platform()} {
			name := fmt.Sprintf("envtest-v%s-%s.tar.gz", v, os)
			fmt.Fprintf(w, "    %s:\n      hash: %s\n      selfLink: %s/%s\n", name, p.hash, p.URL, name)
		}
	}
}

func (p *publisher) options(t *testing.T, version string) Options {
	t.Helper()
	t.Setenv("PATH", "") // nothing can be built
	return Options{
		Version: version, CacheDir: t.TempDir(),
		Getenv: environment(EnvMode, modeDownload, EnvIndex, p.URL+"/index.yaml"),
	}
}

func TestDownloadTakesTheWantedVersionAndKeepsIt(t *testing.T) {
	p := newPublisher(t, archive(t, programs()...), "1.37.3", "1.37.2", "1.37.0")
	o := p.options(t, "1.37.2")
	got, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := newAssets(o.assetsDir("1.37.2"), OriginDownloaded)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{etcd, kubeAPIServer, kubectl}, names(t, got.Dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile(got.Etcd)
	if err != nil || string(data) != "#!/bin/sh\necho etcd\n" {
		t.Errorf("etcd is %q, %v", data, err)
	}
	p.Close() // the second time needs no network
	got, err = Ensure(t.Context(), o)
	if err != nil || got.Origin != OriginCache {
		t.Errorf("the second time: from %s, %v, want from the cache", got.Origin, err)
	}
}

func TestDownloadTakesTheNewestPatchOfTheMinorRelease(t *testing.T) {
	p := newPublisher(t, archive(t, programs()...), "1.38.0", "1.37.0", "1.37.1", "1.36.9")
	var progress bytes.Buffer
	o := p.options(t, "1.37.2")
	o.Progress = &progress
	got, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := o.assetsDir("1.37.1"); got.Dir != want {
		t.Errorf("got %s, want %s", got.Dir, want)
	}
	if want := "Kubernetes 1.37.2 is not published, taking 1.37.1"; !strings.Contains(progress.String(), want) {
		t.Errorf("progress %q lacks %q", progress.String(), want)
	}
	p.Close()
	got, err = Ensure(t.Context(), o)
	if err != nil || got.Origin != OriginCache {
		t.Errorf("the second time: from %s, %v, want from the cache", got.Origin, err)
	}
}

func TestDownloadRefusesWhatIsNotSound(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil   func(*publisher)
		archive []byte
		want    string
	}{
		"the archive is not the one of the index": {
			func(p *publisher) { p.hash = strings.Repeat("0", 128) }, archive(t, programs()...), "checksum mismatch",
		},
		"the index has no hash": {
			func(p *publisher) { p.hash = "" }, archive(t, programs()...), "checksum mismatch",
		},
		"the archive lacks a program": {
			func(*publisher) {}, archive(t, etcd, kubectl), "the archive has no kube-apiserver",
		},
		"the archive is none": {
			func(*publisher) {}, []byte("<html>"), "unpack the programs of Kubernetes 1.37.2",
		},
		"the minor release is not published": {
			func(p *publisher) { p.versions = []string{"1.36.0"} }, nil, "nobody has published the programs of Kubernetes 1.37",
		},
		"there is no index": {
			func(p *publisher) { p.Close() }, nil, "read the index of programs to download",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, tc.archive, "1.37.2")
			o := p.options(t, "1.37.2")
			tc.spoil(p)
			_, err := Ensure(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
			found, _ := filepath.Glob(filepath.Join(o.CacheDir, "*", tempPrefix+"*"))
			if missing(o.assetsDir("1.37.2")) == "" || len(found) != 0 {
				t.Errorf("something was kept: %v", found)
			}
		})
	}
}

func TestDownloadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newPublisher(t, nil, "1.37.2")
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/index.yaml" {
			p.serve(w, r)
			return
		}
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	})
	o := p.options(t, "1.37.2")
	if _, err := Ensure(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if got := names(t, o.assetsDir("1.37.2")); len(got) != 0 {
		t.Errorf("files %v were left behind", got)
	}
}
