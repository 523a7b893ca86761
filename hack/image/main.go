// Command image builds the container images of the programs that run in a
// cluster, without a container engine: for linux/amd64 and linux/arm64, on
// nothing but CA certificates, with an SBOM each, and the same to the byte
// whoever builds them.
//
//	go run . --version v1.2.3 --layout dist/images            # to a directory
//	go run . --version v1.2.3 --repository registry.example/x # to a registry
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/ko/pkg/build"
	"github.com/google/ko/pkg/publish"
)

// module is the one that the programs are in.
const module = "digitalocean-cloud-controller-manager"

// programs are the programs that run in a cluster, each in an image of its own.
var programs = []string{module, module + "-admission-server"}

// user is the number of the user and the group nobody has.
const user = "65532:65532"

// options say what is built, and where it goes.
type options struct {
	root, version, commit string
	created               time.Time
	layout, repository    string
	sbom                  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse()
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	flag.StringVar(&o.root, "root", "../..", "directory of the programs' module")
	flag.StringVar(&o.version, "version", "dev", "version of the programs, and the images' tag")
	flag.StringVar(&o.commit, "commit", "unknown", "commit that is built")
	flag.StringVar(&o.layout, "layout", "", "directory to write the images to, as OCI layouts")
	flag.StringVar(&o.repository, "repository", "", "registry and path to push the images to; each gets its program's name as the last part")
	flag.StringVar(&o.sbom, "sbom", "", "directory to write the SBOMs to")
	epoch := flag.String("created", os.Getenv("SOURCE_DATE_EPOCH"), "when the images count as made, in seconds since 1970; the same for the same commit")
	flag.Parse()
	if (o.layout == "") == (o.repository == "") {
		return options{}, errors.New("one of --layout and --repository says where the images go")
	}
	seconds, err := strconv.ParseInt(*epoch, 10, 64)
	if err != nil && *epoch != "" {
		return options{}, fmt.Errorf("--created %q: must be a number of seconds", *epoch)
	}
	o.created = time.Unix(seconds, 0).UTC()
	return o, nil
}

func run(ctx context.Context, o options) error {
	for _, program := range programs {
		digest, err := o.image(ctx, program)
		if err != nil {
			return fmt.Errorf("image of %s: %w", program, err)
		}
		fmt.Println(digest)
	}
	return nil
}

// image builds and publishes the image of a program, and returns its name with
// its digest.
func (o options) image(ctx context.Context, program string) (string, error) {
	base, err := baseOf(program, o.created)
	if err != nil {
		return "", err
	}
	ldflags := fmt.Sprintf("-s -w -X %s/internal/version.version=%s -X %s/internal/version.commit=%s", module, o.version, module, o.commit)
	created := v1.Time{Time: o.created}
	builder, err := build.NewGo(ctx, o.root,
		build.WithBaseImages(base), build.WithPlatforms(platforms...), build.WithUser(user),
		build.WithTrimpath(true), build.WithLdflags([]string{ldflags}), build.WithDefaultEnv([]string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false"}),
		build.WithCreationTime(created), build.WithKoDataCreationTime(created),
		build.WithSPDX(o.version), build.WithSBOMDir(o.sbom),
		build.WithLabel("org.opencontainers.image.title", program),
		build.WithLabel("org.opencontainers.image.version", o.version),
		build.WithLabel("org.opencontainers.image.revision", o.commit),
	)
	if err != nil {
		return "", err
	}
	importPath := build.StrictScheme + path.Join(module, "cmd", program)
	result, err := builder.Build(ctx, importPath)
	if err != nil {
		return "", err
	}
	if o.layout != "" {
		return write(filepath.Join(o.layout, program), result)
	}
	to, err := publish.NewDefault(o.repository,
		publish.WithNamer(func(repository, _ string) string { return path.Join(repository, program) }),
		publish.WithTags([]string{o.version}), publish.WithAuthFromKeychain(authn.DefaultKeychain),
	)
	if err != nil {
		return "", err
	}
	defer func() { _ = to.Close() }()
	reference, err := to.Publish(ctx, result, importPath)
	if err != nil {
		return "", err
	}
	// Without the tag, which the reference has as well: the digest is what is signed.
	return reference.Context().Name() + "@" + reference.Identifier(), nil
}

// write makes an OCI layout of one index.
func write(dir string, result build.Result) (string, error) {
	index, ok := result.(v1.ImageIndex)
	if !ok {
		return "", fmt.Errorf("built a %T, not an index of images", result)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", err
	}
	if err := to.AppendIndex(index); err != nil {
		return "", err
	}
	return dir + "@" + digest.String(), nil
}
