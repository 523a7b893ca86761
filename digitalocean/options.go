package digitalocean

import (
	"net/http"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Option changes what a Cloud works with.
type Option func(*Cloud)

// WithTransport has the API asked through the transport in place of the network.
func WithTransport(t http.RoundTripper) Option {
	return func(c *Cloud) { c.transport = t }
}

// WithRegistry has metrics registered there in place of the process' own
// registry, which takes those of one Cloud only.
func WithRegistry(r metrics.KubeRegistry) Option {
	return func(c *Cloud) {
		c.registry = registry{Register: r.Register, MustRegister: r.MustRegister, CustomMustRegister: r.CustomMustRegister}
	}
}

// registry is where metrics are registered.
type registry struct {
	Register           func(metrics.Registerable) error
	MustRegister       func(...metrics.Registerable)
	CustomMustRegister func(...metrics.StableCollector)
}

// processRegistry is the one that the framework registers in, and serves.
func processRegistry() registry {
	return registry{
		Register: legacyregistry.Register, MustRegister: legacyregistry.MustRegister, CustomMustRegister: legacyregistry.CustomMustRegister,
	}
}
