package doapi

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// tokenFileInterval bounds how often the file is looked at.
	tokenFileInterval = time.Second
	// maxTokenFile bounds how much of the file is read: whatever is longer is
	// no token.
	maxTokenFile = 16 << 10
)

// TokenFile is a [TokenSource] that reads a file again whenever it changed, so
// that a rotated Kubernetes Secret needs no restart. When a read fails, the
// last good token stays in use.
type TokenFile struct {
	path  string
	clock clock.PassiveClock

	mu     sync.Mutex
	looked time.Time   // zero: never
	seen   os.FileInfo // of the last good read
	token  Token       // of the last good read
	err    error       // of the last look, nil when it was good
}

var _ TokenSource = (*TokenFile)(nil)

// FileToken is a source that follows the file at path. The file is first read
// when a token is first wanted.
func FileToken(path string) *TokenFile {
	return &TokenFile{path: path, clock: clock.RealClock{}}
}

// Token gives the file's token. The error says why there never was one.
func (f *TokenFile) Token(ctx context.Context) (Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.clock.Now(); f.looked.IsZero() || now.Sub(f.looked) >= tokenFileInterval {
		f.looked = now
		f.look(ctx)
	}
	if f.token.IsZero() {
		return Token{}, f.err
	}
	return f.token, nil
}

// look refreshes token and err. A failure is told once, not at every look,
// and only when an older token hides it from the caller.
func (f *TokenFile) look(ctx context.Context) {
	had := f.err
	f.err = f.reread(ctx)
	log := klog.FromContext(ctx)
	switch {
	case f.err != nil && had == nil && !f.token.IsZero():
		log.Error(f.err, "Token file can't be used, keeping the last good token", "path", f.path)
	case f.err == nil && had != nil:
		log.Info("Token file can be used again", "path", f.path)
	}
}

func (f *TokenFile) reread(ctx context.Context) error {
	// Stat comes before the read: a change in between is seen the next time.
	// It follows the symbolic links by which the kubelet swaps Secret mounts.
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("stat token file: %w", err)
	}
	if f.seen != nil && os.SameFile(f.seen, info) && f.seen.ModTime().Equal(info.ModTime()) && f.seen.Size() == info.Size() {
		return nil
	}
	raw, err := readBounded(f.path)
	if err != nil {
		return fmt.Errorf("read token file: %w", err)
	}
	token, notes, err := NewToken(raw)
	if err != nil {
		return fmt.Errorf("read token file %s: %w", f.path, err)
	}
	log := klog.FromContext(ctx)
	changed := !f.token.IsZero() && !f.token.Equal(token)
	if f.token.IsZero() || changed {
		for _, note := range notes {
			log.Info("Token was tidied", "path", f.path, "note", note)
		}
	}
	if changed {
		log.Info("Token file holds another token, using it from now on", "path", f.path)
	}
	f.seen, f.token = info, token
	return nil
}

func readBounded(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxTokenFile+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxTokenFile {
		return "", fmt.Errorf("file is longer than %d bytes", maxTokenFile)
	}
	return string(raw), nil
}
