package harness

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	root = "/registry/"
	// quiet is how long nothing is written to etcd when an API server has started.
	quiet         = time.Second
	quietInterval = 100 * time.Millisecond
	// addresses are of the Services' cluster addresses.
	addresses = root + "ipaddresses/"
)

// Kinds of keys, by their beginnings.
var (
	// heartbeats are what the API server writes of itself all the time.
	heartbeats = []string{root + "leases/kube-system/apiserver-", root + "masterleases/", root + "peerserverleases/"}
	// first is what the API server makes when it starts, beside hooks for which it
	// says when they are done.
	first = []string{
		root + "namespaces/default", root + "namespaces/kube-node-lease", root + "namespaces/kube-public", root + "namespaces/kube-system",
		root + "services/specs/default/kubernetes", root + "endpointslices/default/kubernetes",
		root + "configmaps/kube-system/extension-apiserver-authentication",
	}
	// plain is what the API server keeps and serves at once, and doesn't act on by a
	// clock of its own. Policies, webhooks and definitions of resources aren't.
	plain = []string{
		root + "clusterrolebindings/", root + "clusterroles/", root + "configmaps/", root + "endpointslices/", root + "events/",
		addresses, root + "leases/", root + "minions/", root + "namespaces/", root + "pods/", root + "ranges/",
		root + "rolebindings/", root + "roles/", root + "secrets/", root + "serviceaccounts/", root + "services/",
	}
)

func hasPrefix(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// entry is a value and the revision at which it was written.
type entry struct {
	value    []byte
	revision int64
}

// store is the etcd of a control plane.
type store struct{ client *clientv3.Client }

func openStore(url string) (*store, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	return &store{client}, nil
}

func (s *store) close() error { return s.client.Close() }

// read returns everything but heartbeats.
func (s *store) read(ctx context.Context) (map[string]entry, error) {
	response, err := s.client.Get(ctx, root, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("read etcd: %w", err)
	}
	keys := map[string]entry{}
	for _, kv := range response.Kvs {
		if key := string(kv.Key); !hasPrefix(key, heartbeats) {
			keys[key] = entry{kv.Value, kv.ModRevision}
		}
	}
	return keys, nil
}

// settled waits until nothing is written any more, and returns what there is.
func (s *store) settled(ctx context.Context) (map[string]entry, error) {
	var last map[string]entry
	for since := time.Now(); ; {
		keys, err := s.read(ctx)
		if err != nil {
			return nil, err
		}
		complete := !slices.ContainsFunc(first, func(key string) bool { _, has := keys[key]; return !has })
		same := maps.EqualFunc(keys, last, func(a, b entry) bool { return a.revision == b.revision })
		switch {
		case !same || !complete:
			last, since = keys, time.Now()
		case time.Since(since) >= quiet:
			return keys, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("etcd does not come to rest: %w", context.Cause(ctx))
		case <-time.After(quietInterval):
		}
	}
}

// changes are the keys that differ from those that should be, sorted.
func changes(have, want map[string]entry) []string {
	var keys []string
	for key, is := range have {
		if should, ok := want[key]; !ok || !bytes.Equal(is.value, should.value) {
			keys = append(keys, key)
		}
	}
	for key := range want {
		if _, ok := have[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// restore makes keys what they should be. It returns the revisions of the objects
// that it put back.
func (s *store) restore(ctx context.Context, keys []string, want map[string]entry) (written []int64, err error) {
	for _, key := range keys {
		should, ok := want[key]
		if !ok {
			if _, err := s.client.Delete(ctx, key); err != nil {
				return nil, fmt.Errorf("delete %s from etcd: %w", key, err)
			}
			continue
		}
		response, err := s.client.Put(ctx, key, string(should.value))
		if err != nil {
			return nil, fmt.Errorf("put %s back into etcd: %w", key, err)
		}
		if !strings.HasPrefix(key, root+"ranges/") { // which is no object
			written = append(written, response.Header.Revision)
		}
	}
	return written, nil
}
