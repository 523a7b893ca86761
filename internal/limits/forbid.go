package limits

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/nearest"
)

// canForbid tells whether the annotation can be forbidden. What the manager
// writes to Services can't, but for what users write as well.
func canForbid(d annotation.Definition) bool {
	return !d.Written || slices.Contains([]string{annotation.LoadBalancerID, annotation.Type, annotation.CertificateID}, d.Key)
}

// ForbidKey returns the key of the annotation of which suffix is the last part,
// after checking that it can be forbidden. The error says what is allowed.
func ForbidKey(suffix string) (key string, err error) {
	var known []string
	for _, d := range annotation.Registry {
		isIt := annotation.Suffix(d.Key) == suffix
		switch {
		case isIt && !canForbid(d):
			return "", errors.New("can't be forbidden, as the manager itself writes it to Services")
		case isIt:
			return d.Key, nil
		case canForbid(d):
			known = append(known, annotation.Suffix(d.Key))
		}
	}
	if near := nearest.Of(suffix, known); near != "" {
		return "", fmt.Errorf("there is no such annotation; is %s meant?", near)
	}
	return "", errors.New("must be the last part of an annotation: " + strings.Join(known, ", "))
}

// forbidden returns the annotations of the Service that are the forbidden one,
// also for a single port, without those that are there rightfully: what comes
// from the manager's configuration is no annotation of the Service, and what the
// manager writes itself is no request.
func (r Request) forbidden(key string) []string {
	var found []string
	for k, value := range r.Service.Annotations {
		if k != key && !strings.HasPrefix(k, key+".") {
			continue
		}
		if !isSet(k, value) || r.isManagers(k, value) {
			continue
		}
		found = append(found, k)
	}
	slices.Sort(found)
	return found
}

// isSet tells whether the annotation counts as there: an empty one doesn't,
// unless its presence is all that counts.
func isSet(key, value string) bool {
	d, ok := annotation.Lookup(key)
	return value != "" || ok && d.Kind == annotation.KindAny
}

// isManagers tells whether the manager may have written the value, so that
// nothing is gained by it.
func (r Request) isManagers(key, value string) bool {
	switch key {
	case annotation.LoadBalancerID:
		return r.Standing != Unproven
	case annotation.Type:
		return r.Standing == Own || value == r.defaultType()
	}
	return false
}

// defaultType is the type that the Service's load balancer would have if the
// Service didn't say.
func (r Request) defaultType() string {
	svc := r.Service.DeepCopy()
	delete(svc.Annotations, annotation.Type)
	spec, _ := annotation.Parse(svc, r.Defaults)
	return spec.Type
}
