package chaos

import (
	"os"
	"testing"

	"digitalocean-cloud-controller-manager/test/harness"
)

// programs are the things under test and what they run against.
var programs harness.Programs

func TestMain(m *testing.M) {
	harness.Main(m, &programs, os.Getenv("CHAOS_RACE") == "true", nil)
}
