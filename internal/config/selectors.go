package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

const allowedSelector = "must be a label selector such as team=web, tier in (dev,test), or !production"

// parseSelector reads a label selector. One that is empty selects everything,
// which is never what is meant here.
func parseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse label selector %q: %w", text, err)
	}
	if selector.Empty() {
		return nil, fmt.Errorf("parse label selector %q: it selects everything", text)
	}
	return selector, nil
}

// ignore returns nil for no selector.
func (r *reader) ignore() labels.Selector {
	v := r.text(EnvNodeIgnore)
	if v == "" {
		return nil
	}
	selector, err := parseSelector(v)
	if err != nil {
		r.refuse(EnvNodeIgnore, v, allowedSelector)
	}
	return selector
}

func (r *reader) nameTemplate() loadbalancer.NameTemplate {
	v := r.text(EnvNameTemplate)
	template, err := loadbalancer.ParseNameTemplate(v, r.text(EnvClusterID))
	if err != nil {
		r.refuse(EnvNameTemplate, v, err.Error())
	}
	return template
}
