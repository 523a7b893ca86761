package harness

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package against the programs, which it builds first,
// with the race detector where asked. check is called after the tests, and its
// error fails them all; nil: nothing more is checked.
func Main(m *testing.M, programs *Programs, race bool, check func() error) {
	code, err := run(m, programs, race, check)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, programs *Programs, race bool, check func() error) (code int, err error) {
	directory, err := os.MkdirTemp("", "programs-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(directory)
	if *programs, err = Build(context.Background(), directory, race); err != nil {
		return 1, err
	}
	code = m.Run()
	if check != nil {
		err = check()
	}
	return code, err
}
