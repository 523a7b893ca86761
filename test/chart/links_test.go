package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// documents are all that people read, by their paths from the root.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "deploy/charts/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", pattern, files, err)
		}
		for _, file := range files {
			all = append(all, strings.TrimPrefix(file, root+"/"))
		}
	}
	return all
}

func anchors(text string) []string {
	var all []string
	for _, m := range headingPattern.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range documents(t) {
		text := read(t, filepath.Join(root, file))
		for _, m := range linkPattern.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // another place, or a mail address
			}
			linked := text
			if target != "" {
				path := filepath.Join(root, filepath.Dir(file), target)
				info, err := os.Stat(path)
				if err != nil {
					t.Errorf("%s: %v", file, err)
					continue
				}
				if info.IsDir() {
					continue
				}
				linked = read(t, path)
			}
			if anchor != "" && !slices.Contains(anchors(linked), anchor) {
				t.Errorf("%s: %s has no heading #%s", file, target, anchor)
			}
		}
	}
}

// frameworkEvents are reasons of Kubernetes' own that documents name.
var frameworkEvents = []string{"DeletingNodeFailed"}

// What documents call an event is one.
func TestEventsOfTheDocumentsExist(t *testing.T) {
	events := read(t, root+"/docs/events.md")
	named := regexp.MustCompile("events? (?:\\w+ )?\\(?`([A-Z]\\w+)`|reason=([A-Z]\\w+)")
	count := 0
	for _, file := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(read(t, filepath.Join(root, file)), -1) {
			count++
			if reason := m[1] + m[2]; !slices.Contains(frameworkEvents, reason) && !strings.Contains(events, "| "+reason+" |") {
				t.Errorf("%s: docs/events.md has no %s", file, reason)
			}
		}
	}
	if count < 10 {
		t.Errorf("the documents name %d events", count)
	}
}

// What documents tell to set is a value.
func TestValuesOfTheDocumentsExist(t *testing.T) {
	named := regexp.MustCompile("`(config\\.[a-zA-Z.]+)`|--set ([a-zA-Z.]+)=|`((?:monitoring|admission|admissionPolicy|leaderElection|kubernetesAPI|logging|debug)\\.[a-zA-Z.]+)`")
	count := 0
	for _, file := range []string{"README.md", "SECURITY.md", "docs/getting-started.md", "docs/migration.md", "docs/operations.md", "docs/admission.md"} {
		for _, m := range named.FindAllStringSubmatch(read(t, filepath.Join(root, file)), -1) {
			if m[1] == "config.yaml" {
				continue // a file
			}
			count++
			value := readSchema(t)
			for _, key := range strings.Split(m[1]+m[2]+m[3], ".") {
				if value = value.Properties[key]; value == nil {
					t.Errorf("%s: the chart has no value %s", file, m[1]+m[2]+m[3])
					break
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("the documents name %d values", count)
	}
}
