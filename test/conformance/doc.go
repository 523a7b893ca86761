// Package conformance checks the simulator against the published description of
// DigitalOcean's API, over random walks through all its operations. See
// internal/openapitest for where the description has to be.
package conformance
