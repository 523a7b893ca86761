package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// filesInterval is how often files are looked at: they are small, and mounted
// Secrets are a minute late anyway.
const filesInterval = 10 * time.Second

// Files serves the certificate that somebody else keeps in a directory, as
// tls.crt and tls.key.
type Files struct {
	directory string
	clock     clock.WithTicker
	current   atomic.Pointer[tls.Certificate]
	read      [2][]byte
}

// NewFiles reads the files. A certificate that can't be used is an error.
func NewFiles(directory string, clock clock.WithTicker) (*Files, error) {
	f := &Files{directory: directory, clock: clock}
	if _, err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// Run reads the files again when they change, until the context ends.
func (f *Files) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.clock.After(filesInterval):
		}
		switch changed, err := f.load(); {
		case err != nil:
			// Half of a change, perhaps: the one before is served meanwhile.
			logger.Error(err, "The certificate's files can't be read; going on with the one before")
		case changed:
			logger.Info("Read another certificate", "directory", f.directory)
		}
	}
}

func (f *Files) load() (changed bool, err error) {
	var read [2][]byte
	for i, name := range []string{"tls.crt", "tls.key"} {
		if read[i], err = os.ReadFile(filepath.Join(f.directory, name)); err != nil {
			return false, fmt.Errorf("read certificate: %w", err)
		}
	}
	if bytes.Equal(read[0], f.read[0]) && bytes.Equal(read[1], f.read[1]) {
		return false, nil
	}
	certificate, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return false, fmt.Errorf("read certificate in %s: %w", f.directory, err)
	}
	f.current.Store(&certificate)
	f.read = read
	return true, nil
}

// Certificate is for [tls.Config.GetCertificate].
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.current.Load(), nil
}

// Ready implements the same as [Keeper.Ready]: there always is a certificate.
func (f *Files) Ready(context.Context) error { return nil }
