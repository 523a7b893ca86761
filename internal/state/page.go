package state

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

//go:embed page.html
var pageText string

// page is made of one file and needs nothing else: no script, no font, no
// picture.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ago": ago, "until": until, "stamp": stamp, "join": func(list []string) string { return strings.Join(list, ", ") },
}).Parse(pageText))

// Handler serves reports: a page where a browser asks, JSON otherwise. The query
// format=json or format=html chooses as well.
func Handler(report func() Report) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		var body bytes.Buffer
		contentType, err := "application/json", error(nil)
		if wantsPage(r) {
			contentType = "text/html; charset=utf-8"
			err = page.Execute(&body, report())
		} else {
			encoder := json.NewEncoder(&body)
			encoder.SetIndent("", "  ")
			err = encoder.Encode(report())
		}
		if err != nil {
			klog.FromContext(r.Context()).Error(err, "State can't be shown")
			http.Error(w, "the state can't be shown; the manager's log says why", http.StatusInternalServerError)
			return
		}
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("Cache-Control", "no-store")
		header.Set("Vary", "Accept")
		header.Set("X-Content-Type-Options", "nosniff")
		// Whatever an object is called, nothing in the page can act.
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = w.Write(body.Bytes()) // who asked has gone away
	})
}

// wantsPage tells whether a browser asks; what takes anything gets JSON.
func wantsPage(r *http.Request) bool {
	switch r.URL.Query().Get("format") {
	case "json":
		return false
	case "html":
		return true
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// ago tells how long before now a time was, roughly.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return roughly(now.Sub(at)) + " ago"
}

// until tells how long after now a time is, roughly.
func until(now, at time.Time) string {
	switch {
	case at.IsZero():
		return "unknown"
	case !at.After(now):
		return "now"
	}
	return "in " + roughly(at.Sub(now))
}

func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 0))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
