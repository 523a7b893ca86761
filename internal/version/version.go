// Package version tells which build of the manager this is.
package version

import (
	"fmt"
	"runtime/debug"
)

// Set by the linker; see the Makefile.
var (
	version = ""
	commit  = ""
)

// Version is the release, such as v1.2.3, or "dev" for a build that was told
// none.
func Version() string {
	if version != "" {
		return version
	}
	return "dev"
}

// Full is both the release and the commit, as --version prints them.
func Full() string { return fmt.Sprintf("%s (commit %s)", Version(), Commit()) }

// Commit is the source's revision, or "unknown".
func Commit() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
