// Package admission judges Services of type LoadBalancer before the API server
// stores them, on the very decisions that the manager makes later: it parses,
// desires and compares with the same functions, and asks DigitalOcean whether it
// would take the result. It changes nothing, in the cluster or at DigitalOcean.
//
// It refuses only what the request itself brings: what was wrong with a Service
// before, or what nobody can tell at the moment, never blocks an edit.
package admission
