package openapitest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Variable names the environment variable with the directory of the description.
const Variable = "DIGITALOCEAN_OPENAPI"

// ErrAbsent is wrapped by the error of Load where there is no description.
var ErrAbsent = errors.New("the published API description is not here")

// directory is where the description has to be.
func directory() string {
	if dir := os.Getenv(Variable); dir != "" {
		return dir
	}
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	checkout := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	return filepath.Join(filepath.Dir(checkout), "shared", "openapi")
}

// load reads the description once for a test binary; it takes seconds.
var load = sync.OnceValues(func() (*Description, error) {
	d, err := Load(directory())
	if errors.Is(err, ErrAbsent) && os.Getenv(Variable) != "" {
		// Whoever names a directory wants it used.
		return nil, fmt.Errorf("%s: %s", Variable, err.Error())
	}
	return d, err
})

// Find returns the description, or skips the test and says where it should be.
// A directory that the environment names has to hold it.
func Find(tb testing.TB) *Description {
	tb.Helper()
	d, err := load()
	switch {
	case errors.Is(err, ErrAbsent):
		tb.Skipf("not checked against DigitalOcean's API description: %v; set %s to its directory", err, Variable)
	case err != nil:
		tb.Fatal(err)
	}
	return d
}

// Shared is Find for those who go on without the description, which is an error
// that wraps ErrAbsent.
func Shared() (*Description, error) { return load() }

// read returns a file of the directory; absent is nil.
func read(dir, name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the API description: %w", err)
	}
	return data, nil
}
