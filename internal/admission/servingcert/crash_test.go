package servingcert

import (
	"fmt"
	"testing"

	testingclock "k8s.io/utils/clock/testing"

	"digitalocean-cloud-controller-manager/internal/crash"
)

// Killed before or after any write of a year's, the server goes on with what its
// Secret holds: clients trust its certificate each day.
func TestWhereverAProcessIsKilledItsCertificateIsTrusted(t *testing.T) {
	const renewed, told = "update secrets", "update validatingwebhookconfigurations"
	want := []string{
		"create secrets", told, renewed, renewed, renewed, renewed,
		told, renewed, renewed, renewed, renewed, told, renewed, told, renewed,
	}
	crash.Everywhere(t, want, func(t *testing.T, end crash.Point) (troubles, writes []string) {
		kube, clock := newKube(), testingclock.NewFakeClock(start)
		process := crash.NewProcess(end, func() {})
		born := func(p *crash.Process) *Keeper {
			return NewKeeper(Options{
				Kube: p.Kubernetes(kube), Namespace: "n", Secret: "s", Configuration: "web", Names: year.names, Lifetime: year.lifetime, Clock: clock,
			})
		}
		k, killed := born(process), false
		for today := range 365 {
			err := k.sync(t.Context())
			if process.Dead() && !killed {
				k, killed = born(crash.NewProcess(crash.Point{}, func() {})), true
				err = k.sync(t.Context())
			}
			served, _ := k.Certificate(nil)
			switch {
			case err != nil:
				troubles = append(troubles, fmt.Sprintf("day %d: %v", today, err))
			case trusts(t, bundleOf(t, kube), state{serving: pair{certificate: served.Leaf}}, year.names[0], clock.Now()) != nil:
				troubles = append(troubles, fmt.Sprintf("day %d: the certificate isn't trusted", today))
			}
			clock.Step(day)
		}
		return troubles, process.Writes()
	})
}
