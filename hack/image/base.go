package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/ko/pkg/build"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

var platforms = []string{"linux/amd64", "linux/arm64"}

// baseOf gives the image on which a program's is built: what a static program
// needs of an operating system, and nothing that could need an update.
func baseOf(program string, created time.Time) (build.GetBase, error) {
	layer, err := baseLayer(program, created)
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return nil, err
		}
		image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		config = config.DeepCopy()
		config.OS, config.Architecture = p.OS, p.Architecture
		if image, err = mutate.ConfigFile(image, config); err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: p}})
	}
	reference, err := name.ParseReference("scratch")
	if err != nil {
		return nil, err
	}
	return func(context.Context, string) (name.Reference, build.Result, error) { return reference, index, nil }, nil
}

// baseLayer holds the CA certificates, the user, and the program where the public
// manager's image has it, so that manifests which name the command go on working.
func baseLayer(program string, created time.Time) (v1.Layer, error) {
	certificates, err := caCertificates()
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, file := range []struct{ name, text, link string }{
		{name: "etc/ssl/certs/ca-certificates.crt", text: certificates},
		{name: "etc/passwd", text: "nonroot:x:65532:65532:nonroot:/:/none\n"},
		{name: "etc/group", text: "nonroot:x:65532:\n"},
		{name: "bin/" + program, link: "/ko-app/" + program},
	} {
		header := &tar.Header{Name: file.name, Typeflag: tar.TypeReg, Mode: 0o444, Size: int64(len(file.text)), ModTime: created}
		if file.link != "" {
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, file.link, 0o777
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, file.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
}

// caCertificates are the roots that Mozilla trusts, in PEM.
func caCertificates() (string, error) {
	var all bytes.Buffer
	n := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a file can't say what holds for some certificates alone
		}
		if err := pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return "", err
		}
		n++
	}
	if n == 0 {
		return "", fmt.Errorf("there is no CA certificate")
	}
	return all.String(), nil
}
