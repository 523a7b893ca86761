package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/internal/sandbox"
)

// Plane is a control plane of [Planes]. Clients in this process that a test makes
// of its configurations reach it no more once the test is over.
type Plane struct {
	*sandbox.ControlPlane

	directory string
	auditLog  string
	store     *store
	caches    *caches
	// fresh is what it held when it was new.
	fresh state

	// What follows is of one test.
	gate  *gate
	taken time.Time
	// group marks the identities, and so the requests, of one test.
	group string
	// spent says what the test did to it that leaves traces in its processes.
	spent string
}

// state is what a control plane holds.
type state struct {
	keys    map[string]entry
	objects map[object]bool
}

// takes counts the tests that had a control plane.
var takes atomic.Int64

func startPlane(ctx context.Context, assets controlplane.Assets) (p *Plane, err error) {
	directory, err := os.MkdirTemp("", "plane-")
	if err != nil {
		return nil, fmt.Errorf("start control plane: %w", err)
	}
	p = &Plane{directory: directory, auditLog: filepath.Join(directory, "audit.log")}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	policy := filepath.Join(directory, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return p, fmt.Errorf("start control plane: %w", err)
	}
	p.ControlPlane, err = sandbox.StartControlPlane(ctx, assets, sandbox.ControlPlaneOptions{Signals: true, Args: map[string]string{
		"audit-policy-file": policy, "audit-log-path": p.auditLog, "audit-log-mode": "blocking",
	}})
	if err != nil {
		return p, err
	}
	if p.store, err = openStore(p.EtcdURL()); err != nil {
		return p, err
	}
	if p.caches, err = newCaches(p.ControlPlane.Config()); err != nil {
		return p, err
	}
	if p.fresh.keys, err = p.store.settled(ctx); err != nil {
		return p, err
	}
	p.fresh.objects, _, err = p.caches.read(ctx)
	return p, err
}

// begin gives it to a test.
func (p *Plane) begin() {
	p.gate, p.taken, p.spent = newGate(), time.Now(), ""
	p.group = "test-" + strconv.FormatInt(takes.Add(1), 10)
}

// end takes it from the test.
func (p *Plane) end() { p.gate.close() }

func (p *Plane) stop() error {
	var errs []error
	if p.store != nil {
		errs = append(errs, p.store.close())
	}
	if p.ControlPlane != nil {
		errs = append(errs, p.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(p.directory))...)
}

// Config is an administrator's.
func (p *Plane) Config() *rest.Config {
	config := p.ControlPlane.Config()
	config.Dial = p.gate.DialContext
	return config
}

// AddUser is [sandbox.ControlPlane.AddUser]. The user is in a further group.
func (p *Plane) AddUser(name string, groups ...string) (sandbox.User, error) {
	user, err := p.ControlPlane.AddUser(name, append(groups, p.group)...)
	if err == nil {
		user.Config.Dial = p.gate.DialContext
	}
	return user, err
}

// AddManager is [sandbox.ControlPlane.AddManager].
func (p *Plane) AddManager(ctx context.Context, rbac []byte) (sandbox.User, error) {
	user, err := p.ControlPlane.AddManager(ctx, rbac, p.group)
	if err == nil {
		user.Config.Dial = p.gate.DialContext
	}
	return user, err
}

// StopAPIServer is [sandbox.ControlPlane.StopAPIServer].
func (p *Plane) StopAPIServer() error {
	p.spent = "its API server was stopped"
	return p.ControlPlane.StopAPIServer()
}

// RestartAPIServer is [sandbox.ControlPlane.RestartAPIServer].
func (p *Plane) RestartAPIServer() error {
	p.spent = "its API server was stopped"
	return p.ControlPlane.RestartAPIServer()
}

// PauseEtcd is [sandbox.ControlPlane.PauseEtcd].
func (p *Plane) PauseEtcd() error {
	p.spent = "its etcd was paused"
	return p.ControlPlane.PauseEtcd()
}
