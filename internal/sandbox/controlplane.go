package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"digitalocean-cloud-controller-manager/internal/controlplane"
)

// controlPlaneTimeout is how long etcd and kube-apiserver may each take to
// start and to stop. They need about three seconds on an idle machine.
const controlPlaneTimeout = time.Minute

// apiServerGrace is how long kube-apiserver may take to end when it alone is
// stopped.
const apiServerGrace = 5 * time.Second

// ControlPlaneOptions changes how StartControlPlane starts it. The zero value
// is usable.
type ControlPlaneOptions struct {
	// Args are further flags of kube-apiserver, by name without dashes.
	Args map[string]string
	// Signals has the processes be ones that can be paused and killed. They are
	// started by scripts in the folder for temporary files then, which not every
	// machine lets run.
	Signals bool
}

// ControlPlane is a running etcd and kube-apiserver, with TLS and RBAC, on free
// ports of the loopback address.
type ControlPlane struct {
	env *envtest.Environment
	dir string
}

// silenceEnvtest sets the package variable through which envtest logs: it
// complains when nobody did. What it logs comes back as an error too.
var silenceEnvtest = sync.OnceFunc(func() { ctrllog.SetLogger(logr.Discard()) })

// StartControlPlane starts etcd and kube-apiserver and returns when they serve.
// The caller stops them with Stop. If the context ends before they serve, they
// are stopped again and its error is returned; afterwards it has no effect.
//
// There is no kube-controller-manager: deleted namespaces stay Terminating,
// owner references delete nothing, and ServiceAccounts have no tokens.
func StartControlPlane(ctx context.Context, assets controlplane.Assets, o ControlPlaneOptions) (*ControlPlane, error) {
	silenceEnvtest()
	dir, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		return nil, fmt.Errorf("start control plane: %w", err)
	}
	log, err := os.Create(filepath.Join(dir, "controlplane.log"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start control plane: %w", err), os.RemoveAll(dir))
	}
	defer func() { _ = log.Close() }() // the processes have their own descriptors
	cp := &ControlPlane{dir: dir}
	if cp.env, err = newEnvironment(assets, dir, log, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := cp.start(ctx); err != nil {
		if ctx.Err() == nil { // otherwise the log has nothing to explain
			err = fmt.Errorf("%w%s", err, logTail(log.Name()))
		}
		return nil, errors.Join(fmt.Errorf("start control plane: %w", err), cp.Stop())
	}
	return cp, nil
}

// start waits for envtest even when the context ends, as it can't be stopped
// half-way.
func (c *ControlPlane) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if _, err := c.env.Start(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func newEnvironment(assets controlplane.Assets, dir string, log io.Writer, o ControlPlaneOptions) (*envtest.Environment, error) {
	env := &envtest.Environment{
		// Whatever USE_EXISTING_CLUSTER says: a cluster in the user's kubeconfig
		// must not be touched by accident.
		UseExistingCluster:       ptr.To(false),
		ControlPlaneStartTimeout: controlPlaneTimeout,
		ControlPlaneStopTimeout:  controlPlaneTimeout,
	}
	env.ControlPlane.KubectlPath = assets.Kubectl
	etcd, apiServer := assets.Etcd, assets.KubeAPIServer
	if o.Signals {
		var errEtcd, errAPIServer error
		etcd, errEtcd = wrap(dir, etcdProcess, etcd)
		apiServer, errAPIServer = wrap(dir, apiServerProcess, apiServer)
		if err := errors.Join(errEtcd, errAPIServer); err != nil {
			return nil, err
		}
	}
	// Folders of our own: envtest doesn't remove its own ones when a start fails.
	env.ControlPlane.Etcd = &envtest.Etcd{
		Path: etcd, DataDir: filepath.Join(dir, "etcd"), Out: log, Err: log,
	}
	api := env.ControlPlane.GetAPIServer()
	api.Path, api.CertDir, api.Out, api.Err = apiServer, filepath.Join(dir, "kube-apiserver"), log, log
	for _, d := range []string{env.ControlPlane.Etcd.DataDir, api.CertDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, fmt.Errorf("start control plane: %w", err)
		}
	}
	if err := addRequestHeaderCA(api); err != nil {
		return nil, fmt.Errorf("start control plane: %w", err)
	}
	for name, value := range o.Args {
		api.Configure().Set(name, value)
	}
	return env, nil
}

// Config is an administrator's, with request limits that tests don't reach.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.env.Config) }

// Kubeconfig is an administrator's.
func (c *ControlPlane) Kubeconfig() []byte { return slices.Clone(c.env.KubeConfig) }

// URL of kube-apiserver.
func (c *ControlPlane) URL() string { return strings.TrimSuffix(c.env.Config.Host, "/") }

// EtcdURL is where etcd serves, without authentication.
func (c *ControlPlane) EtcdURL() string { return c.env.ControlPlane.Etcd.URL.String() }

// User is an identity that the API server knows by its certificate.
type User struct {
	Name       string
	Config     *rest.Config
	Kubeconfig []byte
}

// AddUser makes an identity. It may do only what RBAC allows it.
func (c *ControlPlane) AddUser(name string, groups ...string) (User, error) {
	added, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return User{}, fmt.Errorf("add user %s: %w", name, err)
	}
	kubeconfig, err := added.KubeConfig()
	if err != nil {
		return User{}, fmt.Errorf("make the kubeconfig of user %s: %w", name, err)
	}
	return User{Name: name, Config: added.Config(), Kubeconfig: kubeconfig}, nil
}

// RestartAPIServer stops kube-apiserver and starts it again at the same
// address, on the same data: what its clients see of an upgrade. It returns once
// it serves. Nobody else may use the control plane's methods meanwhile; clients
// may.
func (c *ControlPlane) RestartAPIServer() error {
	if err := c.StopAPIServer(); err != nil {
		return err
	}
	return c.StartAPIServer()
}

// StopAPIServer stops kube-apiserver alone, until StartAPIServer. It is asked to
// end and, as by a kubelet and with [ControlPlaneOptions].Signals, killed after a
// while: it waits for its clients, and those that watch don't leave.
func (c *ControlPlane) StopAPIServer() error {
	insist := time.AfterFunc(apiServerGrace, func() { _ = c.signal(apiServerProcess, syscall.SIGKILL) })
	defer insist.Stop()
	if err := c.env.ControlPlane.GetAPIServer().Stop(); err != nil {
		return fmt.Errorf("stop kube-apiserver: %w", err)
	}
	return nil
}

// StartAPIServer starts kube-apiserver again after StopAPIServer, and returns
// once it serves.
func (c *ControlPlane) StartAPIServer() error {
	if err := c.env.ControlPlane.GetAPIServer().Start(); err != nil {
		return fmt.Errorf("start kube-apiserver: %w", err)
	}
	return nil
}

// Stop stops both processes and removes their files.
func (c *ControlPlane) Stop() error {
	if err := errors.Join(c.wakeEtcd(), c.env.Stop(), os.RemoveAll(c.dir)); err != nil {
		return fmt.Errorf("stop control plane: %w", err)
	}
	return nil
}

// managerServiceAccount is the identity to which deploy's manifests give the
// manager's rights.
const (
	managerNamespace      = "kube-system"
	managerServiceAccount = "cloud-controller-manager"
)

// AddManager gives the cluster the manager's ServiceAccount, roles and
// bindings, just as they are shipped, and returns an identity that is that
// ServiceAccount to RBAC. It may be in further groups.
func (c *ControlPlane) AddManager(ctx context.Context, rbac []byte, groups ...string) (User, error) {
	if err := Apply(ctx, c.Config(), rbac); err != nil {
		return User{}, err
	}
	return c.AddUser("system:serviceaccount:"+managerNamespace+":"+managerServiceAccount,
		append(groups, "system:serviceaccounts", "system:serviceaccounts:"+managerNamespace, "system:authenticated")...)
}

// hostPort is an address on the loopback interface.
func hostPort(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
