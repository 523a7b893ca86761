// Package simulator is DigitalOcean's API v2 in memory, as an http.Handler.
//
// It is meant for whoever writes software against that API and wants to test
// it without an account, a bill or a network: mount a Simulator on any server,
// point a client at it, and the client meets the same paths, fields, defaults,
// bounds, status codes, error bodies, paging links and rate limits as in life.
//
// # What is simulated
//
// Droplets and their actions, load balancers, firewalls, tags, certificates, VPCs
// and their subnets, projects, reserved IPs (also by their old name, and of
// IPv6), volumes and their snapshots, SSH keys, images, regions, sizes, the
// account, and a droplet's metadata service (below /metadata/v1). Operations
// lists every operation. Every other path is answered as the API answers an
// unknown one: 404 with an error body, or 405 for a method that the path lacks.
//
// # Time
//
// Nothing happens in the background. With WithActivationReads, what is on its way
// arrives after it was read so often. Whatever else depends on time (a load balancer
// becoming active, a busy window ending, a request leaving the rate limit's
// sliding hour) is computed from the clock when it is read, so a test that
// injects a clock with WithClock moves the world by moving the clock. Delays of
// answers (WithLatency, Fault.Delay, Fault.Trickle) are the exception: they hold
// up a real connection and so last real time.
//
// # Teams
//
// A token belongs to a team, and a team sees only what is its own: the ids of
// others are 404. Without WithToken, every non-empty token is accepted and
// belongs to the team "default". A token may be limited to scopes; without the
// one that an operation needs it is 403.
//
// # Seeding and keeping
//
// Load fills a simulator from a scenario file in YAML. Save and Restore keep
// everything that it holds in a snapshot, to go on from the same place again.
//
// # Control surface
//
// What DigitalOcean's console, hardware or bad luck would do is done through Go
// methods or, from another process, over HTTP below ControlPath: droplets
// appear, stop and vanish, load balancers are changed by hand, faults are
// injected, and the log of all API requests is read.
//
//	GET    /_simulator/state
//	POST   /_simulator/droplets               a DropletSpec
//	PATCH  /_simulator/droplets/{id}          a DropletPatch
//	DELETE /_simulator/droplets/{id}
//	POST   /_simulator/droplets/{id}/stop
//	POST   /_simulator/droplets/{id}/start
//	PATCH  /_simulator/load_balancers/{id}    any fields of a LoadBalancer
//	DELETE /_simulator/load_balancers/{id}
//	PATCH  /_simulator/firewalls/{id}         any fields of a Firewall
//	DELETE /_simulator/firewalls/{id}
//	POST   /_simulator/certificates           a CertificateSpec
//	POST   /_simulator/certificates/{id}/rotate
//	DELETE /_simulator/certificates/{id}
//	POST   /_simulator/scenario               a scenario in YAML, added
//	GET    /_simulator/snapshot
//	PUT    /_simulator/snapshot               replaces everything
//	GET    /_simulator/requests               ?since= ?method= ?path= ?team= ?status=
//	DELETE /_simulator/requests
//	GET    /_simulator/faults
//	POST   /_simulator/faults                 a Fault
//	DELETE /_simulator/faults
//	DELETE /_simulator/faults/{id}
//	GET    /_simulator/settings
//	PATCH  /_simulator/settings               a SettingsPatch
//
// The control surface needs no token, so a server that mounts a Simulator
// belongs on a loopback address. Changes that a browser asks for on behalf of
// another site are refused with 403.
//
// # Console
//
// A browser that opens the simulator's address finds a page to look at all this
// and to change it. To other clients that path is the API's, and is unknown.
//
// # Where the API's behaviour is not known
//
// Some corners are undocumented. The simulator then takes the side that is
// harder for a client: lists are newest first, so that paging shifts when
// something is created; every write but DELETE is refused while a load balancer
// is new; a filter by name hides GPU droplets as the plain list does. Requests
// refused with 429 are not counted against the limit.
package simulator
