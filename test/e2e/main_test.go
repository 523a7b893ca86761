package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/test/harness"
)

var (
	programs harness.Programs
	planes   harness.Planes
)

// The race detector watches the manager as well.
func TestMain(m *testing.M) {
	harness.Main(m, &programs, true, func() error { return errors.Join(planes.Close(), allRightsAreUsed()) })
}

func allRightsAreUsed() error {
	if unused := unusedRights(); ranAll() && len(unused) > 0 {
		return fmt.Errorf("the roles grant what no test used:\n%s", strings.Join(unused, "\n"))
	}
	return nil
}
