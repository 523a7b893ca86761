package doapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// secretMount is a directory laid out as the kubelet does for a Secret: the
// file is a link through a link that is swapped.
type secretMount struct {
	t    *testing.T
	dir  string
	next int
}

func (m *secretMount) path() string { return filepath.Join(m.dir, "token") }

func (m *secretMount) put(content string) {
	m.t.Helper()
	m.next++
	version := filepath.Join(m.dir, "..v"+strings.Repeat("i", m.next))
	check(m.t, os.Mkdir(version, 0o700))
	check(m.t, os.WriteFile(filepath.Join(version, "token"), []byte(content), 0o600))
	fresh := filepath.Join(m.dir, "..fresh")
	check(m.t, os.Symlink(version, fresh))
	check(m.t, os.Rename(fresh, filepath.Join(m.dir, "..data")))
	if m.next == 1 {
		check(m.t, os.Symlink(filepath.Join("..data", "token"), m.path()))
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTokenFileFollowsTheFile(t *testing.T) {
	ctx, log := withLog(t.Context(), 0)
	now := testingclock.NewFakePassiveClock(time.Now())
	mount := &secretMount{t: t, dir: t.TempDir()}
	file := FileToken(mount.path())
	file.clock = now
	want := func(step, value string) {
		t.Helper()
		token, err := file.Token(ctx)
		if err != nil || token.value() != value {
			t.Fatalf("%s: the token is not %s (error %v)", step, value, err)
		}
	}
	later := func() { now.SetTime(now.Now().Add(tokenFileInterval)) }

	if _, err := file.Token(ctx); err == nil {
		t.Fatal("a token came from a file that doesn't exist")
	}
	mount.put("first-token\n")
	if _, err := file.Token(ctx); err == nil {
		t.Fatal("the file was looked at twice within a second")
	}
	later()
	want("appeared", "first-token")
	mount.put("second-token")
	want("within the second", "first-token")
	later()
	want("swapped", "second-token")
	mount.put("not a token")
	later()
	want("unusable", "second-token")
	later()
	want("still unusable", "second-token")
	check(t, os.Remove(mount.path()))
	later()
	want("removed", "second-token")
	check(t, os.WriteFile(mount.path(), []byte("third-token"), 0o600))
	later()
	want("another file", "third-token")

	for line, times := range map[string]int{
		"Token was tidied": 1, "holds another token": 2, "keeping the last good token": 1, "can be used again": 2,
	} {
		if got := log.lines(line); got != times {
			t.Errorf("%q was logged %d times, want %d", line, got, times)
		}
	}
	if strings.Contains(log.String(), "-token\"") || strings.Contains(log.String(), "not a token") {
		t.Error("the log shows a token:", log)
	}
}

func TestTokenFileReadsInPlaceEdits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	now := testingclock.NewFakePassiveClock(time.Now())
	file := FileToken(path)
	file.clock = now
	for i, content := range []string{"aaaaaaaa", "bbbbbbbb", "cccc"} {
		check(t, os.WriteFile(path, []byte(content), 0o600))
		// File systems keep times coarsely; two writes may fall into one tick.
		stamp := time.Unix(int64(1_700_000_000+i), 0)
		check(t, os.Chtimes(path, stamp, stamp))
		now.SetTime(now.Now().Add(tokenFileInterval))
		token, err := file.Token(t.Context())
		if err != nil || token.value() != content {
			t.Fatalf("edit %d was not read (error %v)", i, err)
		}
	}
}

func TestTokenFileRefusesWhatIsNoToken(t *testing.T) {
	tests := map[string]string{
		"empty": "", "too long": strings.Repeat("x", maxTokenFile+1), "a page": "<html> no </html>",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "token")
			check(t, os.WriteFile(path, []byte(content), 0o600))
			_, err := FileToken(path).Token(t.Context())
			if err == nil {
				t.Fatal("it was taken for a token")
			}
			if content != "" && strings.Contains(err.Error(), content) {
				t.Error("the error shows the content")
			}
		})
	}
}
