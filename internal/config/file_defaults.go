package config

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Paths of what only the file has.
const (
	pathDefaults = "loadBalancer.defaults"
	pathClasses  = "loadBalancer.classes"
)

// annotations reads values of annotations that have the last part of their keys
// for a name, and returns them by key.
func (f *file) annotations(path string, value any) map[string]string {
	section, ok := value.(map[string]any)
	if !ok && value != nil {
		f.refuse(path, value, "must be a section of annotations, such as size-unit: 2")
		return nil
	}
	values := map[string]string{}
	for _, suffix := range slices.Sorted(maps.Keys(section)) {
		below, value := joinPath(path, suffix), section[suffix]
		text, ok := scalar(value)
		if !ok {
			f.refuse(below, value, "must be one value, as the annotation has it")
			continue
		}
		key, err := annotation.DefaultKey(suffix, text)
		if err != nil {
			f.refuse(below, value, err.Error())
			continue
		}
		values[key] = text
	}
	return values
}

func (f *file) readClasses(value any) {
	section, ok := value.(map[string]any)
	if !ok && value != nil {
		f.refuse(pathClasses, value, "must be a section with a section of annotations for each class")
		return
	}
	f.classes = map[string]map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(section)) {
		path := joinPath(pathClasses, name)
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			f.refuse(path, nil, "must be named by lower-case letters, digits, '-' and '.'")
			continue
		}
		f.classes[name] = f.annotations(path, section[name])
	}
}
