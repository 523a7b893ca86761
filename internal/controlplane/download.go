package controlplane

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/remote"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/versions"
)

// megabyte is the unit of a download's progress.
const megabyte = 1 << 20

// ensureDownloaded returns the cached programs, or downloads them. Not every
// patch release is published: the newest of the same minor release will do.
func ensureDownloaded(ctx context.Context, o Options, rep *reporter) (Assets, error) {
	want, err := concrete(o.Version)
	if err != nil {
		return Assets{}, err
	}
	if dir, ok := cachedSeries(o, want); ok {
		return newAssets(dir, OriginCache), nil
	}
	client := &remote.HTTPClient{Log: logr.Discard(), IndexURL: o.IndexURL}
	rep.phase("looking for programs to download", "", 0)
	published, err := client.ListVersions(ctx)
	if err != nil {
		return Assets{}, fmt.Errorf("read the index of programs to download: %w", err)
	}
	found, item, ok := choose(published, want)
	if !ok {
		return Assets{}, fmt.Errorf("nobody has published the programs of Kubernetes %d.%d for %s: build them with %s=%s",
			want.Major, want.Minor, platform(), EnvMode, modeBuild)
	}
	if found != want {
		rep.note("Kubernetes %s is not published, taking %s", want, found)
	}
	return download(ctx, client, o.assetsDir(found.String()), found, item, rep)
}

func concrete(semver string) (versions.Concrete, error) {
	v, err := version.ParseSemantic(semver)
	if err != nil {
		return versions.Concrete{}, fmt.Errorf("version of Kubernetes: %w", err)
	}
	return versions.Concrete{Major: int(v.Major()), Minor: int(v.Minor()), Patch: int(v.Patch())}, nil
}

// closest orders the wanted version first, then the newest.
func closest(want versions.Concrete) func(a, b versions.Concrete) int {
	return func(a, b versions.Concrete) int {
		switch {
		case a == b:
			return 0
		case a == want:
			return -1
		case b == want:
			return 1
		}
		return b.Compare(a)
	}
}

func sameSeries(a, b versions.Concrete) bool { return a.Major == b.Major && a.Minor == b.Minor }

// cachedSeries looks for the wanted version, or another patch release of it,
// in the cache.
func cachedSeries(o Options, want versions.Concrete) (dir string, ok bool) {
	entries, err := os.ReadDir(o.CacheDir)
	if err != nil {
		return "", false // there is no cache yet, or none that can be read
	}
	var found []versions.Concrete
	for _, e := range entries {
		v, p := versions.ExtractWithPlatform(versions.VersionPlatformRE, e.Name())
		if v != nil && sameSeries(*v, want) && p.OS == runtime.GOOS && p.Arch == runtime.GOARCH &&
			missing(o.assetsDir(v.String())) == "" {
			found = append(found, *v)
		}
	}
	if len(found) == 0 {
		return "", false
	}
	return o.assetsDir(slices.MinFunc(found, closest(want)).String()), true
}

// choose picks the wanted version for this platform, or the newest patch
// release of it.
func choose(published []versions.Set, want versions.Concrete) (versions.Concrete, versions.PlatformItem, bool) {
	candidates := map[versions.Concrete]versions.PlatformItem{}
	var order []versions.Concrete
	for _, set := range published {
		for _, item := range set.Platforms {
			if sameSeries(set.Version, want) && item.OS == runtime.GOOS && item.Arch == runtime.GOARCH {
				candidates[set.Version] = item
				order = append(order, set.Version)
			}
		}
	}
	if len(order) == 0 {
		return versions.Concrete{}, versions.PlatformItem{}, false
	}
	best := slices.MinFunc(order, closest(want))
	return best, candidates[best], true
}

// download fetches the archive, and keeps the programs in it once its hash is
// known to be right.
func download(ctx context.Context, client remote.Client, dir string, v versions.Concrete, item versions.PlatformItem, rep *reporter) (Assets, error) {
	unlock, err := lockDir(ctx, dir, rep)
	if err != nil {
		return Assets{}, err
	}
	defer unlock()
	if missing(dir) == "" { // another run was first
		return newAssets(dir, OriginCache), nil
	}
	if err := sweep(dir); err != nil {
		return Assets{}, err
	}
	archive, err := os.CreateTemp(dir, tempPrefix)
	if err != nil {
		return Assets{}, fmt.Errorf("download the programs: %w", err)
	}
	defer func() { _, _ = archive.Close(), os.Remove(archive.Name()) }()
	rep.phase("downloading Kubernetes "+v.String(), "MB", 0)
	if err := client.GetVersion(ctx, v, item, &meter{out: archive, report: rep}); err != nil {
		return Assets{}, fmt.Errorf("download the programs of Kubernetes %s: %w", v, err)
	}
	if err := unpack(archive, dir); err != nil {
		return Assets{}, fmt.Errorf("unpack the programs of Kubernetes %s: %w", v, err)
	}
	return newAssets(dir, OriginDownloaded), nil
}

// meter counts what passes.
type meter struct {
	out    io.Writer
	report *reporter
	bytes  int // since the last whole megabyte
}

// Write implements io.Writer.
func (m *meter) Write(p []byte) (int, error) {
	n, err := m.out.Write(p)
	m.bytes += n
	m.report.add(m.bytes / megabyte)
	m.bytes %= megabyte
	return n, err
}

// unpack takes the programs out of the archive; each appears when it is whole.
func unpack(archive io.ReadSeeker, dir string) error {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	uncompressed, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	files := tar.NewReader(uncompressed)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := path.Base(header.Name)
		if header.Typeflag != tar.TypeReg || !slices.Contains(programs(), name) {
			continue
		}
		if err := keep(files, filepath.Join(dir, tempPrefix+name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if name := missing(dir); name != "" {
		return fmt.Errorf("the archive has no %s", name)
	}
	return nil
}

func keep(content io.Reader, temp, final string) error {
	defer func() { _ = os.Remove(temp) }() // gone already if all went well
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(temp, final)
}
