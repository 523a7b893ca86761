package main

import (
	"archive/tar"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// The images of the tests, which count as those of a commit.
const (
	version = "dev"
	commit  = "abc"
	created = 1_700_000_000
)

// built builds all images into a directory.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	o := options{root: "../..", version: version, commit: commit, created: time.Unix(created, 0).UTC(), layout: dir, sbom: filepath.Join(dir, "sbom")}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return dir
}

// indexOf is a program's index of images, one for each platform.
func indexOf(t *testing.T, dir, program string) v1.ImageIndex {
	t.Helper()
	index, err := layout.ImageIndexFromPath(filepath.Join(dir, program))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v (%v), want one index in the layout", manifest, err)
	}
	if index, err = index.ImageIndex(manifest.Manifests[0].Digest); err != nil {
		t.Fatal(err)
	}
	return index
}

// images are an index's by platform.
func images(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		if all[m.Platform.String()], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Building takes long, so that what is published is the second build, with which
// the first is compared.
func TestImages(t *testing.T) {
	dir := built(t)
	for _, program := range programs {
		t.Run(program, func(t *testing.T) { check(t, dir, program) })
	}
	t.Run("published with the chart, and the same to the byte", func(t *testing.T) { checkPublish(t, dir) })
}

// check looks into a program's images in a directory.
func check(t *testing.T, dir, program string) {
	t.Helper()
	all := images(t, indexOf(t, dir, program))
	if len(all) != len(platforms) {
		t.Errorf("%d images, want %d", len(all), len(platforms))
	}
	for _, platform := range platforms {
		image := all[platform]
		if image == nil {
			t.Errorf("no image for %s", platform)
			continue
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := config.Config
		if c.User != user || len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/ko-app/"+program || c.Labels["org.opencontainers.image.version"] != version {
			t.Errorf("%s: %+v", platform, c)
		}
		sbom, err := os.ReadFile(filepath.Join(dir, "sbom", program+"-"+strings.ReplaceAll(platform, "/", "-")+".spdx.json"))
		if err != nil || !strings.Contains(string(sbom), "k8s.io/client-go") {
			t.Errorf("%s: the SBOM doesn't name what is built in (%v)", platform, err)
		}
		files := filesOf(t, image)
		if link := files["bin/"+program].Linkname; link != "/ko-app/"+program {
			t.Errorf("%s: /bin/%s is %q", platform, program, link)
		}
		if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM([]byte(files["etc/ssl/certs/ca-certificates.crt"].text)) {
			t.Errorf("%s: no CA certificates", platform)
		}
		binary := files["ko-app/"+program]
		t.Logf("%s %s: %d MB", program, platform, len(binary.text)>>20)
		if strings.Contains(binary.text, ".debug_info") {
			t.Errorf("%s: the program is not stripped", platform)
		}
		if platform == "linux/amd64" {
			checkRuns(t, program, binary.text)
		}
	}
}

// checkRuns runs the program as the image has it.
func checkRuns(t *testing.T, program, content string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(output), version) {
		t.Errorf("--version says %q (%v)", output, err)
	}
}

// file is one of an image's.
type file struct{ text, Linkname string }

func filesOf(t *testing.T, image v1.Image) map[string]file {
	t.Helper()
	all := map[string]file{}
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(header.Name, "/")] = file{string(text), header.Linkname}
	}
}
