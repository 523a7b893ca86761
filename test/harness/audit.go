package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// auditPolicy logs who did what of the programs, and whether they may. Watches
// are logged when they begin.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, userGroups: ["system:serviceaccounts:kube-system"]}
  - {level: None}
`

// Audit returns the lines of the API server's log of what the test's programs asked
// of it, and an error if those of another test are among them.
func (p *Plane) Audit() ([]byte, error) {
	text, err := os.ReadFile(p.auditLog)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return ownRequests(text, p.taken, p.group)
}

// ownRequests returns the lines of requests since a time, which must be of a group.
func ownRequests(text []byte, since time.Time, group string) ([]byte, error) {
	var own []byte
	var strangers []string
	for line := range bytes.Lines(text) {
		var event struct {
			User struct{ Groups []string }
			At   time.Time `json:"requestReceivedTimestamp"`
			URI  string    `json:"requestURI"`
		}
		if json.Unmarshal(line, &event) != nil || event.At.Before(since) {
			continue // it was being written when the API server ended, or is the end of an earlier watch
		}
		if !slices.Contains(event.User.Groups, group) {
			strangers = append(strangers, fmt.Sprintf("%s by %q", event.URI, event.User.Groups))
			continue
		}
		own = append(own, line...)
	}
	if len(strangers) > 0 {
		return own, fmt.Errorf("programs of another test were running: %s", strings.Join(strangers, ", "))
	}
	return own, nil
}
