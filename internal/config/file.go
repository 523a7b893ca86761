package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/nearest"
)

// fileVersion is the only version of the configuration file so far.
const fileVersion = "1"

// fileName is how problems name the file.
const fileName = "--cloud-config"

// fileSettings are the paths, in the configuration file, of what can be set by
// an environment variable as well.
var fileSettings = map[string]string{
	"api.token":                 EnvToken,
	"api.tokenFile":             EnvTokenFile,
	"api.url":                   EnvAPIURL,
	"api.rateLimitQPS":          EnvRateLimit,
	"region":                    EnvRegion,
	"metadataURL":               EnvMetadataURL,
	"clusterID":                 EnvClusterID,
	"vpcID":                     EnvVPCID,
	"metricsAddress":            EnvMetricsAddr,
	"debugAddress":              EnvDebugAddr,
	"driftPeriod":               EnvDriftPeriod,
	"observeOnly":               EnvObserveOnly,
	"firewall.name":             EnvFirewallName,
	"firewall.tags":             EnvFirewallTags,
	"loadBalancer.defaultType":  EnvDefaultType,
	"loadBalancer.targets":      EnvTargets,
	"loadBalancer.healthCheck":  EnvHealthCheck,
	"loadBalancer.missing":      EnvMissing,
	"nodes.deletionBrake":       EnvNodeBrake,
	"loadBalancer.nameTemplate": EnvNameTemplate,
	"nodes.labelsFromTags":      EnvNodeTags,
	"nodes.ignore":              EnvNodeIgnore,
}

// fileLists are the settings that may be lists in the file, which are separated
// by commas in the variable.
var fileLists = map[string]bool{EnvFirewallTags: true, EnvNodeTags: true}

// file is a configuration file that was read.
type file struct {
	// values are the settings that have an environment variable, by its name.
	values map[string]string
	// defaults and classes are values of annotations.
	defaults map[string]string
	classes  map[string]map[string]string
	limits   limits.Limits
	// problems are what can't be used.
	problems []error
}

// readFile reads a configuration file. It is strict: a key that isn't known is a
// problem, as a setting that is silently ignored is found out at night.
func readFile(r io.Reader) (*file, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", fileName, err)
	}
	var tree map[string]any
	// Strict: a key that is there twice is an error.
	if err := yaml.UnmarshalStrict(data, &tree); err != nil {
		return nil, fmt.Errorf("%s is not valid YAML: %w", fileName, err)
	}
	if err := oneDocument(data); err != nil {
		return nil, err
	}
	f := &file{values: map[string]string{}}
	if len(tree) == 0 {
		return f, nil // nothing is set, in whatever version
	}
	f.version(tree)
	f.walk("", tree)
	return f, errors.Join(f.problems...)
}

// oneDocument fails for a file with several documents, of which all but the first
// would be ignored. Empty ones may follow it.
func oneDocument(data []byte) error {
	documents := yamlv3.NewDecoder(bytes.NewReader(data))
	for first := true; ; first = false {
		var content any
		err := documents.Decode(&content)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s is not valid YAML: %w", fileName, err)
		case !first && content != nil:
			return fmt.Errorf("%s must be one YAML document, and has several with --- or ... between them", fileName)
		}
	}
}

func (f *file) refuse(path string, value any, allowed string) {
	text := ""
	if value != nil {
		text = fmt.Sprint(value)
	}
	f.problems = append(f.problems, &Problem{Setting: fileName + ": " + path, Value: text, Allowed: allowed})
}

func (f *file) version(tree map[string]any) {
	version, ok := tree["version"]
	delete(tree, "version")
	if text, _ := scalar(version); text != fileVersion {
		if !ok {
			version = nil
		}
		f.refuse("version", version, "must be "+fileVersion)
	}
}

// walk gathers the settings below a path.
func (f *file) walk(path string, tree map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		below, value := joinPath(path, key), tree[key]
		switch below {
		case pathDefaults:
			f.defaults = f.annotations(below, value)
			continue
		case pathClasses:
			f.readClasses(value)
			continue
		case pathLimits:
			f.readLimits(value)
			continue
		}
		if name, ok := fileSettings[below]; ok {
			f.set(below, name, value)
			continue
		}
		if !isSection(below) {
			f.unknown(below)
			continue
		}
		switch section := value.(type) {
		case nil: // a section that is commented out
		case map[string]any:
			f.walk(below, section)
		default:
			f.refuse(below, value, "must be a section with keys below it")
		}
	}
}

func (f *file) set(path, name string, value any) {
	text, ok := scalar(value)
	allowed := "must be one value"
	if fileLists[name] {
		allowed += ", or a list of values without commas in them"
		if list, isList := value.([]any); isList {
			text, ok = listText(list)
		}
	}
	if !ok {
		if name == EnvToken {
			value = nil // a secret, in whatever form
		}
		f.refuse(path, value, allowed)
		return
	}
	f.values[name] = text
}

func (f *file) unknown(path string) {
	known := slices.Sorted(maps.Keys(fileSettings))
	known = append(known, "version", pathDefaults, pathClasses, pathLimits)
	allowed := "there is no such setting; there are " + strings.Join(known, ", ")
	if near := nearestSetting(path, known); near != "" {
		allowed = "there is no such setting; is " + near + " meant?"
	}
	f.refuse(path, nil, allowed)
}

// nearestSetting is the setting or section that may be meant by a path: one of
// nearly the same path, or else of the same last part. Empty: none is near.
func nearestSetting(path string, known []string) string {
	sections := map[string]bool{}
	for _, setting := range known {
		if i := strings.LastIndexByte(setting, '.'); i > 0 {
			sections[setting[:i]] = true
		}
	}
	all := slices.Concat(known, slices.Sorted(maps.Keys(sections)))
	if near := nearest.By(path, all, strings.ToLower); near != "" {
		return near
	}
	last := func(path string) string { return strings.ToLower(path[strings.LastIndexByte(path, '.')+1:]) }
	if i := slices.IndexFunc(all, func(setting string) bool { return last(setting) == last(path) }); i >= 0 {
		return all[i]
	}
	return ""
}

// pathOf is where the file has what an environment variable sets.
func pathOf(name string) string {
	for path, variable := range fileSettings {
		if variable == name {
			return path
		}
	}
	return name
}

func isSection(path string) bool {
	for setting := range fileSettings {
		if strings.HasPrefix(setting, path+".") {
			return true
		}
	}
	return false
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// scalar writes a value as an environment variable would have it.
func scalar(value any) (text string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func listText(list []any) (text string, ok bool) {
	texts := make([]string, len(list))
	for i, entry := range list {
		if texts[i], ok = scalar(entry); !ok || strings.Contains(texts[i], ",") {
			return "", false
		}
	}
	return strings.Join(texts, ","), true
}
