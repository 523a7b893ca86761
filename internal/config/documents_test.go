package config

import (
	"os"
	"strings"
	"testing"
)

// examples are the configuration files that a document shows: blocks that are
// indented and begin with the line.
func examples(t *testing.T, document, begin string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + document)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	inside := false
	for line := range strings.Lines(string(text)) {
		indented, ok := strings.CutPrefix(line, "    ")
		switch {
		case ok && !inside && strings.TrimSpace(indented) == begin:
			all, inside = append(all, indented), true
		case ok && inside:
			all[len(all)-1] += indented
		default:
			inside = false
		}
	}
	return all
}

func TestTheDocumentsExamplesAreValid(t *testing.T) {
	for document, begin := range map[string]string{"configuration.md": "version: 1", "limits.md": "loadBalancer:"} {
		found := examples(t, document, begin)
		if len(found) != 1 {
			t.Errorf("%s has %d examples", document, len(found))
		}
		for _, example := range found {
			if begin != "version: 1" {
				example = "version: 1\napi: {tokenFile: /token}\n" + example
			}
			c, err := Read(environment(nil), strings.NewReader(example))
			if err != nil {
				t.Errorf("%s: %v", document, err)
				continue
			}
			if len(c.Limits) == 0 {
				t.Errorf("%s: no limits were read", document)
			}
		}
	}
}

// Every setting is in the document, by both of its names.
func TestTheDocumentNamesEverySetting(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, variable := range fileSettings {
		for _, name := range []string{path, variable} {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("configuration.md lacks %s", name)
			}
		}
	}
	for name := range limitReaders {
		document, err := os.ReadFile("../../docs/limits.md")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(document), "`"+name+"`") {
			t.Errorf("limits.md lacks %s", name)
		}
	}
}
