package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// makePublish runs `make publish` into a directory of the test's.
func makePublish(t *testing.T, settings ...string) (dist, output string, err error) {
	t.Helper()
	dist = t.TempDir()
	command := exec.CommandContext(t.Context(), "make", append([]string{
		"-C", "../..", "--no-print-directory", "publish", "DIST=" + dist,
		"VERSION=" + version, "COMMIT=" + commit, "CREATED=" + strconv.Itoa(created),
	}, settings...)...)
	// Helm's and the registries' files are the test's too, and what another make
	// that runs this test was told isn't for this one.
	home := t.TempDir()
	command.Env = append(os.Environ(), "MAKEFLAGS=", "DOCKER_CONFIG="+home, "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	text, err := command.CombinedOutput()
	return dist, string(text), err
}

// checkPublish publishes what was built into a directory before, to a registry
// of the test's.
func checkPublish(t *testing.T, before string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/some/path"
	dist, output, err := makePublish(t, "REPOSITORY="+repository, "HELM_PUSH_ARGS=--plain-http")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	published, err := os.ReadFile(filepath.Join(dist, "published"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(published))
	if len(lines) != len(programs)+1 {
		t.Fatalf("dist/published has %q", lines)
	}
	for i, program := range programs {
		digest, err := indexOf(t, before, program).Digest()
		if err != nil {
			t.Fatal(err)
		}
		// The workflow looks for them by this, and signs them by digest.
		if want := repository + "/" + program + "@" + digest.String(); lines[i] != want {
			t.Errorf("published %s, and built before %s", lines[i], want)
		}
		if got := pushed(t, repository+"/"+program+":"+version); got != digest.String() {
			t.Errorf("the tag of %s is %s", program, got)
		}
		if _, err := os.Stat(filepath.Join(dist, "sbom", program+"-index.spdx.json")); err != nil {
			t.Errorf("the SBOM that the workflow attests: %v", err)
		}
	}
	checkChart(t, repository, lines[len(programs)])
}

// pushed is the digest of a program's images in a registry, which are all there.
func pushed(t *testing.T, image string) string {
	t.Helper()
	index, err := remote.Index(reference(t, image))
	if err != nil {
		t.Fatal(err)
	}
	for platform, image := range images(t, index) {
		if err := validate.Image(image, validate.Fast); err != nil {
			t.Errorf("%s: %v", platform, err)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func reference(t *testing.T, text string) name.Reference {
	t.Helper()
	r, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkChart looks whether the chart in a registry names the images there: whoever
// installs it need not know where they are.
func checkChart(t *testing.T, repository, published string) {
	t.Helper()
	chart, err := remote.Image(reference(t, repository+"/charts/"+module+":0.0.0-build-"+version))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := chart.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := repository + "/charts/" + module + "@" + digest.String(); published != want {
		t.Errorf("published %s, and the registry has %s", published, want)
	}
	layers, err := chart.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers (%v)", len(layers), err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	values := fileOf(t, content, module+"/values.yaml")
	for _, program := range programs {
		if !strings.Contains(values, "repository: "+repository+"/"+program+"\n") {
			t.Errorf("the chart's values don't name %s/%s", repository, program)
		}
	}
}

// fileOf reads a file of a compressed archive.
func fileOf(t *testing.T, archive io.Reader, name string) string {
	t.Helper()
	content, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("there is no %s", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Clean(header.Name) == name {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

func TestPublishSaysWhatIsMissing(t *testing.T) {
	dist, output, err := makePublish(t, "REPOSITORY=")
	if err == nil || !strings.Contains(output, "Set REPOSITORY=registry/path") {
		t.Errorf("%v: %s", err, output)
	}
	if files, err := os.ReadDir(dist); err != nil || len(files) > 0 {
		t.Errorf("it made %v (%v)", files, err)
	}
}
