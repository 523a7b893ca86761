// Package lint finds what is wrong with the Services in manifests, before a
// cluster sees them. It judges by what the manager itself goes by, packages
// annotation and loadbalancer, and has no rule of its own; what it adds is where
// in a file the mistake is.
//
// The package is pure: a file's content in, findings out.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/limits"
)

// Severity is how bad a finding is. The values are also SARIF's levels.
type Severity string

// Severities of findings.
const (
	// Error is for what the manager, or the API server, refuses.
	Error Severity = "error"
	// Warning is for what works, and hardly as it was meant.
	Warning Severity = "warning"
	// Note is for what is worth knowing, and nothing to mend.
	Note Severity = "note"
)

// Finding is one thing about one Service.
type Finding struct {
	// File is the name that the file was given by.
	File string `json:"file"`
	// Line and Column count from 1. They are those of the annotation or field;
	// where it isn't in the file, of the nearest that is.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Severity is how bad it is.
	Severity Severity `json:"severity"`
	// Service is the Service's name, after its namespace and a slash where the
	// manifest has one.
	Service string `json:"service"`
	// Field is an annotation's key, or the path of a field such as
	// spec.ports[0].protocol.
	Field string `json:"field"`
	// Message says what was found and what is allowed.
	Message string `json:"message"`
}

// String is one line for people, as compilers write it.
func (f Finding) String() string {
	severity := ""
	if f.Severity != Error {
		severity = string(f.Severity) + ": "
	}
	return fmt.Sprintf("%s:%d: %s%s: %s", f.File, f.Line, severity, f.Field, f.Message)
}

// Report is what was found in one or more files.
type Report struct {
	Findings []Finding
	// Services counts those that the manager makes load balancers for.
	Services int
}

// Add adds another file's report.
func (r *Report) Add(other Report) {
	r.Findings = append(r.Findings, other.Findings...)
	r.Services += other.Services
}

// Count is the number of findings of a severity.
func (r *Report) Count(severity Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// Options are what a cluster's configuration adds to a manifest.
type Options struct {
	// Defaults are the manager's cluster-wide ones.
	Defaults annotation.Defaults
	// AnyClass takes every class of defaults for one that exists, as it must be
	// where the manager's configuration is not at hand.
	AnyClass bool
	// Limits are what the manager's configuration allows. Those for selected
	// namespaces are left out, as are counts of what a cluster has.
	Limits limits.Limits
}

// Check finds what is wrong with the Services in a file of YAML documents or of
// JSON. Other kinds are skipped. The error tells of documents that can't be
// read; what the others hold is in the report all the same.
func Check(file string, data []byte, o Options) (Report, error) {
	var report Report
	var failures []error
	for _, d := range split(data) {
		manifests, err := d.manifests()
		if err != nil {
			failures = append(failures, fmt.Errorf("%s:%w", file, err))
			continue
		}
		for _, m := range manifests {
			j := judge{file: file, manifest: m, options: o}
			if j.judge() {
				report.Services++
			}
			report.Findings = append(report.Findings, j.findings...)
		}
	}
	slices.SortStableFunc(report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return report, errors.Join(failures...)
}
