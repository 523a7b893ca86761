package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// ageAttempts is how often it is tried to change an object that others write.
const ageAttempts = 20

// AgeNode has a Node be so much older, which the API itself lets nobody say. Who
// watches Nodes sees it change.
func (p *Plane) AgeNode(ctx context.Context, name string, by time.Duration) error {
	for range ageAttempts {
		done, err := p.store.ageNode(ctx, root+"minions/"+name, by)
		if err != nil {
			return fmt.Errorf("age Node %s: %w", name, err)
		}
		if done {
			return nil
		}
	}
	return fmt.Errorf("age Node %s: others write it all the time", name)
}

// ageNode returns false if somebody wrote the Node meanwhile.
func (s *store) ageNode(ctx context.Context, key string, by time.Duration) (bool, error) {
	response, err := s.client.Get(ctx, key)
	if err != nil {
		return false, err
	}
	if len(response.Kvs) == 0 {
		return false, errors.New("there is none")
	}
	was := response.Kvs[0]
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(was.Value, nil, nil)
	if err != nil {
		return false, fmt.Errorf("decode: %w", err)
	}
	node, ok := object.(*v1.Node)
	if !ok {
		return false, fmt.Errorf("it is a %T", object)
	}
	node.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Node"))
	node.CreationTimestamp = metav1.NewTime(node.CreationTimestamp.Add(-by))
	var now bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(node, &now); err != nil {
		return false, fmt.Errorf("encode: %w", err)
	}
	written, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", was.ModRevision)).
		Then(clientv3.OpPut(key, now.String())).Commit()
	if err != nil {
		return false, err
	}
	return written.Succeeded, nil
}
