package lint

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// SARIF 2.1.0 is what code hosting services read the results of static analysis
// in. These are the parts of it that are used here.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string     `json:"id"`
		ShortDescription sarifText  `json:"shortDescription"`
		FullDescription  *sarifText `json:"fullDescription,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Severity        `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://json.schemastore.org/sarif-2.1.0.json"
)

// WriteSARIF writes the findings as a SARIF log. version is the program's.
func (r Report) WriteSARIF(w io.Writer, version string) error {
	rules, results := []sarifRule{}, []sarifResult{}
	index := map[string]int{}
	for _, f := range r.Findings {
		rule := ruleOf(f.Field)
		at, known := index[rule.ID]
		if !known {
			at = len(rules)
			index[rule.ID] = at
			rules = append(rules, rule)
		}
		results = append(results, sarifResult{
			RuleID: rule.ID, RuleIndex: at, Level: f.Severity,
			Message: sarifText{f.Field + ": " + f.Message},
			Locations: []sarifLocation{{sarifPlace{
				ArtifactLocation: sarifArtifact{uriOf(f.File)},
				Region:           sarifRegion{StartLine: f.Line, StartColumn: f.Column},
			}}},
		})
	}
	driver := sarifDriver{Name: "ccmctl", Version: version, Rules: rules}
	return writeJSON(w, sarifLog{
		Schema: sarifSchema, Version: sarifVersion,
		Runs: []sarifRun{{Tool: sarifTool{driver}, Results: results}},
	})
}

var indices = regexp.MustCompile(`\[\d+\]`)

// ruleOf is what a finding about a field counts under: the annotation, or the
// field without the number of a port.
func ruleOf(field string) sarifRule {
	if d, known := annotation.Lookup(field); known {
		return sarifRule{ID: annotation.Suffix(d.Key), ShortDescription: sarifText{d.Key}, FullDescription: &sarifText{cmp.Or(d.Doc, d.Key)}}
	}
	if strings.Contains(field, "/") {
		return sarifRule{ID: "other-annotation", ShortDescription: sarifText{"An annotation that the manager doesn't know"}}
	}
	id := indices.ReplaceAllString(field, "")
	return sarifRule{ID: id, ShortDescription: sarifText{"The Service's field " + id}}
}

// uriOf is a file's name as a reference; a relative one stays relative, as to the
// root of a checkout.
func uriOf(file string) string {
	return reference(filepath.ToSlash(file), filepath.IsAbs(file))
}

// reference takes a name with slashes, also "C:/x.yaml", whose drive would else
// be taken for a host.
func reference(name string, absolute bool) string {
	u := url.URL{Path: name}
	if absolute {
		u.Scheme = "file"
		u.Path = "/" + strings.TrimPrefix(name, "/")
	}
	return u.String()
}
