package harness

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"digitalocean-cloud-controller-manager/internal/periodic"
)

func TestFaultsInLogsAreNoticed(t *testing.T) {
	const token = "dop_v1_secret"
	// Defects are survived by the manager, and must be noticed all the same.
	var survived bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&survived))))
	if err := periodic.Safely(ctx, time.Minute, func(context.Context) error { panic("of a test") }); err == nil {
		t.Fatal("no error")
	}
	race := func(where string) string {
		return "==================\nWARNING: DATA RACE\nWrite at 0x00c000 by goroutine 9:\n  " + where + "()\n      /x.go:1\n==================\n"
	}
	for name, test := range map[string]struct{ log, want string }{
		"nothing":                    {"I0101 all is well\nE0101 \"Load balancer can't be read\" err=\"503\"\n", ""},
		"a panic that ended it":      {"panic: runtime error\n\ngoroutine 63 [running]:\n", "panic:"},
		"a panic that it survived":   {survived.String(), "A defect"},
		"one that the framework did": {"E0101 \"Observed a panic\" panic=\"x\"\n", "Observed a panic"},
		"the token":                  {"I0101 \"Request\" header=\"Bearer " + token + "\"\n", token},
		"a race of ours":             {race("digitalocean-cloud-controller-manager/internal/inventory.put"), "data race"},
		"a race of the framework's":  {race("k8s.io/cloud-provider/controllers/service.sync"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			faults := strings.Join(Faults(test.log, token), "\n")
			if test.want == "" && faults != "" || !strings.Contains(faults, test.want) {
				t.Errorf("found %q, want %q", faults, test.want)
			}
		})
	}
}
