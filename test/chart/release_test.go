package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkout copies what is in version control, or could be.
func checkout(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	list.Dir = root
	files, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		from, to := filepath.Join(root, file), filepath.Join(dir, file)
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, to, read(t, from))
		if err := os.Chmod(to, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// maker runs make in a checkout, apart from the make that runs the tests.
func maker(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory"}, args...)...)
	command.Dir, command.Env = dir, append(os.Environ(), "MAKEFLAGS=")
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestBumpVersionPreparesARelease(t *testing.T) {
	dir := checkout(t)
	// Whatever ours has by now.
	writeFile(t, filepath.Join(dir, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n- New.\n\n## v0.0.1 - 2020-01-01\n\n- Old.\n")
	if out, err := maker(t, dir, "bump-version", "NEW_VERSION=v9.8.7", "REPOSITORY=registry.example.com/me"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for file, want := range map[string]string{
		"VERSION":                                    "v9.8.7\n",
		"deploy/manifests/deployment.yaml":           "image: " + chartName + ":v9.8.7\n",
		"deploy/manifests/admission-server.yaml":     "image: " + chartName + "-admission-server:v9.8.7\n",
		"releases/v9.8.7.yaml":                       "image: registry.example.com/me/" + chartName + ":v9.8.7\n",
		"deploy/charts/" + chartName + "/Chart.yaml": "\nversion: 9.8.7\nappVersion: v9.8.7\n",
	} {
		if text := read(t, filepath.Join(dir, file)); !strings.Contains(text, want) {
			t.Errorf("%s doesn't have %q:\n%.2000s", file, want, text)
		}
	}
	changelog := regexp.MustCompile(`^# Changelog\n\n## Unreleased\n\n## v9\.8\.7 - 20\d\d-\d\d-\d\d\n\n- New\.\n\n## v0\.0\.1 - 2020-01-01\n\n- Old\.\n$`)
	if text := read(t, filepath.Join(dir, "CHANGELOG.md")); !changelog.MatchString(text) {
		t.Errorf("the changelog is\n%s", text)
	}
	notes := exec.CommandContext(t.Context(), filepath.Join(dir, "hack/release/notes.sh"), "v9.8.7")
	if text, err := notes.Output(); err != nil || strings.TrimSpace(string(text)) != "- New." {
		t.Errorf("the release's notes are %q, %v", text, err)
	}
	if out, err := maker(t, dir, "bump-version", "NEW_VERSION=v9.8.7"); err == nil || !strings.Contains(out, "heading for v9.8.7 already") {
		t.Errorf("once more: %v, %s", err, out)
	}
}

func TestBumpVersionRefusesWhatIsNoVersion(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3/x"} {
		out, err := maker(t, root, "bump-version", "NEW_VERSION="+version)
		if err == nil || !strings.Contains(out, "must be like v1.2.3") {
			t.Errorf("%q: %v, %s", version, err, out)
		}
	}
}
