package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/nearest"
)

const pathLimits = "loadBalancer.limits"

// limitReaders read the settings of one limit, by their names.
var limitReaders = map[string]func(*limitReader, string, any){
	"namespaces": func(r *limitReader, path string, value any) { r.Namespaces = r.selector(path, value) },
	"types":      func(r *limitReader, path string, value any) { r.Types = r.oneOf(path, value, annotation.Type) },
	"networks":   func(r *limitReader, path string, value any) { r.Networks = r.oneOf(path, value, annotation.Network) },
	"projects":   func(r *limitReader, path string, value any) { r.Projects = r.projects(path, value) },
	"maxSizeUnit": func(r *limitReader, path string, value any) {
		if n := r.number(path, value, 1); n != nil {
			r.MaxSizeUnit = *n
		}
	},
	"maxLoadBalancersPerNamespace": func(r *limitReader, path string, value any) { r.MaxPerNamespace = r.number(path, value, 0) },
	"maxLoadBalancers":             func(r *limitReader, path string, value any) { r.Max = r.number(path, value, 0) },
	"forbid":                       func(r *limitReader, path string, value any) { r.Forbid = r.forbid(path, value) },
}

// limitReader reads one limit.
type limitReader struct {
	*file
	limits.Limit
}

func (f *file) readLimits(value any) {
	section, ok := value.(map[string]any)
	if !ok && value != nil {
		f.refuse(pathLimits, value, "must be a section with a section of restrictions for each limit, by its name")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(section)) {
		path := joinPath(pathLimits, name)
		if _, restricts := limitReaders[name]; restricts {
			f.refuse(path, nil, fmt.Sprintf("must be below a name for the limit, as in %s: {everyone: {%s: …}}", pathLimits, name))
			continue
		}
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			f.refuse(path, nil, "must be named by lower-case letters, digits, '-' and '.'")
			continue
		}
		restrictions, ok := section[name].(map[string]any)
		if !ok {
			f.refuse(path, section[name], "must be a section with restrictions: "+limitSettings())
			continue
		}
		f.limits = append(f.limits, f.readLimit(name, path, restrictions))
	}
}

func (f *file) readLimit(name, path string, restrictions map[string]any) limits.Limit {
	r := &limitReader{file: f, Limit: limits.Limit{Name: name}}
	count := 0
	for _, key := range slices.Sorted(maps.Keys(restrictions)) {
		below, value := joinPath(path, key), restrictions[key]
		read, ok := limitReaders[key]
		if !ok {
			f.unknownRestriction(below, key)
			continue
		}
		if key != "namespaces" {
			count++
		}
		if value == nil || value == "" {
			// Nothing is allowed, or everything? Better to ask than to guess.
			f.refuse(below, nil, "must have a value, or be absent")
			continue
		}
		read(r, below, value)
	}
	if count == 0 {
		f.refuse(path, nil, "must restrict something, by "+limitSettings())
	}
	return r.Limit
}

func limitSettings() string { return strings.Join(slices.Sorted(maps.Keys(limitReaders)), ", ") }

func (f *file) unknownRestriction(path, key string) {
	allowed := "there is no such restriction; there are " + limitSettings()
	if near := nearest.Of(key, slices.Sorted(maps.Keys(limitReaders))); near != "" {
		allowed = "there is no such restriction; is " + near + " meant?"
	}
	f.refuse(path, nil, allowed)
}

// texts reads one value or a list of values.
func (r *limitReader) texts(path string, value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	texts := make([]string, 0, len(list))
	for _, entry := range list {
		text, ok := scalar(entry)
		if !ok || text == "" {
			r.refuse(path, value, "must be one value, or a list of values")
			return nil
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		r.refuse(path, nil, "must have a value, or be absent")
	}
	return texts
}

// oneOf reads values that an annotation takes.
func (r *limitReader) oneOf(path string, value any, key string) []string {
	d, _ := annotation.Lookup(key)
	texts := r.texts(path, value)
	for _, text := range texts {
		if !slices.Contains(d.Values, text) {
			r.refuse(path, text, "must be any of "+strings.Join(d.Values, ", "))
		}
	}
	return texts
}

func (r *limitReader) projects(path string, value any) []string {
	texts := r.texts(path, value)
	for _, text := range texts {
		if !uuidPattern.MatchString(text) {
			r.refuse(path, text, "must be projects' UUIDs in lower case")
		}
	}
	return texts
}

func (r *limitReader) number(path string, value any, least int) *int {
	text, _ := scalar(value)
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		r.refuse(path, value, fmt.Sprintf("must be a whole number of at least %d", least))
		return nil
	}
	return &n
}

func (r *limitReader) selector(path string, value any) labels.Selector {
	text, ok := scalar(value)
	if !ok {
		r.refuse(path, value, allowedSelector)
		return nil
	}
	selector, err := parseSelector(text)
	if err != nil {
		r.refuse(path, text, allowedSelector)
	}
	return selector
}

func (r *limitReader) forbid(path string, value any) []string {
	var keys []string
	for _, suffix := range r.texts(path, value) {
		key, err := limits.ForbidKey(suffix)
		if err != nil {
			r.refuse(path, suffix, err.Error())
			continue
		}
		keys = append(keys, key)
	}
	return keys
}
