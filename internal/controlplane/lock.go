package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockSuffix makes a lock's name from its folder's.
const lockSuffix = ".lock"

// lockPoll is how often a waiting run tries again.
const lockPoll = 250 * time.Millisecond

// lockDir makes the folder and takes its lock, waiting for another run to let
// it go. The kernel lets go of the lock of a process that died, however it died.
func lockDir(ctx context.Context, dir string, rep *reporter) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache for the control plane: %w", err)
	}
	path := dir + lockSuffix
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the control plane's cache: %w", err)
	}
	// Closing the file lets go of the lock. The file itself stays: removing it
	// would give two runs a lock each, on two files of one name.
	unlock = func() { _ = file.Close() }
	if err := waitForLock(ctx, file, rep); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

func waitForLock(ctx context.Context, file *os.File, rep *reporter) error {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for first := true; ; first = false {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if first {
			rep.phase("waiting for another run that prepares "+strings.TrimSuffix(filepath.Base(file.Name()), lockSuffix), "", 0)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another run to prepare the control plane: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
