// Package chaos has the manager live through storms: a real kube-apiserver and
// etcd, the simulator, and two managers that compete, while everything that can
// happen to them happens at random. Then there is calm, and what must hold
// whatever happened is checked. See docs/reliability.md.
//
// CHAOS_TIME is how long a storm lasts, CHAOS_SEED the first seed, or
// "failed" for those that once found a fault, CHAOS_SEEDS how many there are, CHAOS_PARALLEL how many at once, CHAOS_RACE=true watches
// the managers for data races, and CHAOS_LOGS is a directory for the managers'
// logs. Without CHAOS_TIME there is one short storm.
package chaos
