// Package golden compares what the code makes with the files in the repository
// that were made from it, and writes them when the tests run with -update.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that are made from the code")

// Check fails the test when the file at path isn't what the code makes. A path
// is relative to the test's package.
func Check(t *testing.T, path, made string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(file), made); diff != "" {
		t.Errorf("%s is stale: run make generate\n%s", path, diff)
	}
}
