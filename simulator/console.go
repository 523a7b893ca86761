package simulator

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"
)

// consolePath is where the files of the console's page are.
const consolePath = "/console/"

//go:embed console
var consoleFiles embed.FS

// consoleTypes is not left to the system's table, which may lack them.
var consoleTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// consoleFile returns the file of the console that a request asks for, and nil
// for whatever is the API's to answer: only browsers, which say that they want
// HTML, get the page.
func consoleFile(r *http.Request) (name string, content []byte) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "", nil
	}
	name, found := strings.CutPrefix(r.URL.Path, consolePath)
	if r.URL.Path == "/" && accepts(r, "text/html") {
		name, found = "index.html", true
	}
	if !found || consoleTypes[path.Ext(name)] == "" {
		return "", nil
	}
	content, err := consoleFiles.ReadFile("console/" + name)
	if err != nil {
		return "", nil // no such file
	}
	return name, content
}

// accepts tells whether a request names a media type as wanted.
func accepts(r *http.Request, want string) bool {
	for _, header := range r.Header.Values("Accept") {
		for accepted := range strings.SplitSeq(header, ",") {
			if got, _, err := mime.ParseMediaType(accepted); err == nil && got == want {
				return true
			}
		}
	}
	return false
}

// serveConsole writes a file of the console. Names that people give to objects
// end up in the page, so it may load and run nothing but its own files.
func serveConsole(w http.ResponseWriter, r *http.Request, name string, content []byte) {
	h := w.Header()
	h.Set("Content-Type", consoleTypes[path.Ext(name)])
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept")
	h.Set("Cache-Control", "no-cache")
	h.Set("Etag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(content))))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

var errForeignName = errors.New("a browser may change this loopback address only as localhost or by its number")

// refuseOtherSites returns an error for a change that a browser asks for on
// behalf of another site: the control surface needs no token, and any page that
// its user visits could send it requests. Other programs, like curl, pass.
func refuseOtherSites(r *http.Request) error {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return fmt.Errorf("change by another site: %w", err)
	}
	// A page whose own host name was pointed at this machine is of the same
	// origin. Browsers send Origin with all that changes something.
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if r.Header.Get("Origin") != "" && local != nil && local.IP.IsLoopback() && !isLoopbackName(r.Host) {
		return errForeignName
	}
	return nil
}

// isLoopbackName tells whether a Host header is one that cannot be taken over
// by whoever owns a domain.
func isLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
