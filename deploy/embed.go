// Package deploy embeds the manifests that a cluster needs before the manager
// runs in it, so that the sandbox and the end-to-end tests use the very files
// that are shipped.
package deploy

import _ "embed"

// RBAC holds the ServiceAccount, roles and bindings of the manager as
// multi-document YAML.
//
//go:embed manifests/rbac.yaml
var RBAC []byte
