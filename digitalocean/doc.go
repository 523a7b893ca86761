// Package digitalocean is the DigitalOcean provider of k8s.io/cloud-provider.
// Importing it registers the provider under the name "digitalocean", so that
// any main that runs the framework's command can use it:
//
//	import _ "digitalocean-cloud-controller-manager/digitalocean"
//
// The provider reads its settings from the environment; see
// docs/configuration.md.
package digitalocean
