// Package controlplane provides the programs of a Kubernetes control plane,
// kube-apiserver and etcd, and kubectl beside them, in one folder.
//
// They are needed to run the manager against a real Kubernetes API without a
// cluster. [Ensure] takes the first of these that there is:
//
//  1. the folder named by KUBEBUILDER_ASSETS, as every test built on
//     controller-runtime's envtest does;
//  2. the user's cache, where the programs are kept by version;
//  3. with CONTROLPLANE=download, the archives that envtest publishes;
//  4. otherwise the sources: a Go module pins Kubernetes and etcd, and the go
//     command builds them from there. That takes minutes the first time, needs
//     nothing but Go, and works wherever Go modules can be fetched.
//
// A program appears in the cache in one step, when it is complete, so a run
// that is interrupted leaves nothing half-written, and the next one continues
// from Go's build cache. A lock keeps two runs from doing the same work twice.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// DefaultVersion of Kubernetes is the one that hack/controlplane pins.
const DefaultVersion = "1.37.2"

// Environment variables.
const (
	// EnvAssets names a folder that has the programs.
	EnvAssets = "KUBEBUILDER_ASSETS"
	// EnvMode is "build" (the default) or "download".
	EnvMode = "CONTROLPLANE"
	// EnvIndex is the URL of the index of archives for EnvMode=download.
	EnvIndex = "CONTROLPLANE_INDEX"
)

// Where Assets may come from.
const (
	OriginGiven      = EnvAssets
	OriginCache      = "cache"
	OriginBuilt      = "built"
	OriginDownloaded = "downloaded"
)

const (
	modeBuild    = "build"
	modeDownload = "download"
)

// Names of the programs' files.
const (
	etcd          = "etcd"
	kubeAPIServer = "kube-apiserver"
	kubectl       = "kubectl"
)

func programs() []string { return []string{etcd, kubeAPIServer, kubectl} }

// appName is the folder of this project in the user's cache.
const appName = "digitalocean-cloud-controller-manager"

// Options of Ensure. The zero value is usable.
type Options struct {
	// Version of Kubernetes, such as 1.37.2. Default: DefaultVersion.
	Version string
	// CacheDir keeps the programs, in a folder for each version and platform.
	// Default: digitalocean-cloud-controller-manager/controlplane in
	// [os.UserCacheDir].
	CacheDir string
	// ModuleDir is a checkout's hack/controlplane. Default: it is looked for
	// upwards from the working directory and from the executable. The module is
	// used when it pins Version; otherwise one is generated in CacheDir.
	ModuleDir string
	// IndexURL of the archives to download. Default: CONTROLPLANE_INDEX, or else
	// the library's.
	IndexURL string
	// Progress is told how far the work is: a line that is rewritten on a
	// terminal, a line now and then otherwise. Default: nobody is told.
	Progress io.Writer
	// Getenv reads environment variables. Default: [os.Getenv].
	Getenv func(string) string
}

// Assets are the programs.
type Assets struct {
	// Dir is the folder that holds all of them.
	Dir string
	// Paths of the programs in Dir.
	KubeAPIServer, Etcd, Kubectl string
	// Origin is one of the Origin constants.
	Origin string
}

// MissingError says that a folder given by the user lacks a program.
type MissingError struct {
	Dir, Program string
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s=%s: there is no program %s in it", EnvAssets, e.Dir, e.Program)
}

// ErrNoGo says that the programs would have to be built and there is no go
// command to do so.
var ErrNoGo = errors.New("the go command is not on PATH")

// Ensure returns the programs, making them first if it must. It ends early with
// the context's error, with [*MissingError] if KUBEBUILDER_ASSETS is set to a
// folder without them, and with [ErrNoGo].
func Ensure(ctx context.Context, o Options) (Assets, error) {
	o, err := o.complete()
	if err != nil {
		return Assets{}, err
	}
	if dir := o.Getenv(EnvAssets); dir != "" {
		return givenAssets(dir)
	}
	rep := newReporter(o.Progress)
	defer rep.close()
	switch mode := o.Getenv(EnvMode); mode {
	case "", modeBuild:
		return ensureBuilt(ctx, o, rep)
	case modeDownload:
		return ensureDownloaded(ctx, o, rep)
	default:
		return Assets{}, fmt.Errorf("%s: %q is not valid: must be %s or %s", EnvMode, mode, modeBuild, modeDownload)
	}
}

func (o Options) complete() (Options, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.IndexURL == "" {
		o.IndexURL = o.Getenv(EnvIndex)
	}
	if o.Version == "" {
		o.Version = DefaultVersion
	}
	v, err := version.ParseSemantic(o.Version)
	if err != nil {
		return o, fmt.Errorf("version of Kubernetes: %q is not valid: must be three numbers, such as %s", o.Version, DefaultVersion)
	}
	o.Version = v.String()
	if o.CacheDir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("find the cache for the control plane: %w", err)
		}
		o.CacheDir = filepath.Join(base, appName, "controlplane")
	}
	if o.CacheDir, err = filepath.Abs(o.CacheDir); err != nil {
		return o, fmt.Errorf("find the cache for the control plane: %w", err)
	}
	return o, nil
}

// assetsDir is the folder of a version's programs in the cache.
func (o Options) assetsDir(version string) string {
	return filepath.Join(o.CacheDir, version+"-"+platform())
}

func platform() string { return runtime.GOOS + "-" + runtime.GOARCH }

func newAssets(dir, origin string) Assets {
	return Assets{
		Dir:           dir,
		KubeAPIServer: filepath.Join(dir, kubeAPIServer),
		Etcd:          filepath.Join(dir, etcd),
		Kubectl:       filepath.Join(dir, kubectl),
		Origin:        origin,
	}
}

func givenAssets(dir string) (Assets, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Assets{}, fmt.Errorf("%s: %w", EnvAssets, err)
	}
	if name := missing(dir); name != "" {
		return Assets{}, &MissingError{Dir: dir, Program: name}
	}
	return newAssets(dir, OriginGiven), nil
}

// missing names the first program that the folder lacks, or is empty.
func missing(dir string) string {
	for _, name := range programs() {
		if !executable(filepath.Join(dir, name)) {
			return name
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// ensureBuilt returns the cached programs, or builds what is missing.
func ensureBuilt(ctx context.Context, o Options, rep *reporter) (Assets, error) {
	dir := o.assetsDir(o.Version)
	if missing(dir) == "" {
		return newAssets(dir, OriginCache), nil
	}
	unlock, err := lockDir(ctx, dir, rep)
	if err != nil {
		return Assets{}, err
	}
	defer unlock()
	// Another run may have finished while this one waited.
	if missing(dir) == "" {
		return newAssets(dir, OriginCache), nil
	}
	if err := sweep(dir); err != nil {
		return Assets{}, err
	}
	if err := build(ctx, o, dir, rep); err != nil {
		return Assets{}, fmt.Errorf("build the control plane of Kubernetes %s: %w", o.Version, err)
	}
	return newAssets(dir, OriginBuilt), nil
}

// tempPrefix begins the name of what isn't complete yet.
const tempPrefix = ".incomplete-"

// sweep removes what a killed run left. The caller holds the folder's lock.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for leftovers of an interrupted run: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove what an interrupted run left: %w", err)
		}
	}
	return nil
}
