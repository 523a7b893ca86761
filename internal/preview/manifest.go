package preview

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"digitalocean-cloud-controller-manager/internal/lint"
)

// unborn begins the UIDs of Services that don't exist yet.
const unborn = "unborn:"

func isUnborn(svc *v1.Service) bool { return strings.HasPrefix(string(svc.UID), unborn) }

// Applied returns the Services of a file as they would be after it was applied to
// the cluster: what exists is merged with as kubectl does. Those without a
// namespace are in the one given. now is when new ones are made.
func (c *Cluster) Applied(file string, data []byte, namespace string, now time.Time) ([]*v1.Service, error) {
	objects, err := lint.Objects(file, data)
	if err != nil {
		return nil, err
	}
	var services []*v1.Service
	for _, object := range objects {
		svc, err := c.applied(object, namespace, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		services = append(services, svc)
	}
	return services, nil
}

func (c *Cluster) applied(object map[string]any, namespace string, now time.Time) (*v1.Service, error) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("a Service has no metadata")
	}
	if metadata["namespace"] == nil {
		metadata["namespace"] = namespace
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode a Service: %w", err)
	}
	svc := &v1.Service{}
	if err := json.Unmarshal(text, svc); err != nil {
		return nil, fmt.Errorf("a Service can't be read (ccmctl lint tells where): %w", err)
	}
	if problem, ok := lint.WrongType(svc.Spec.Type); ok {
		return nil, fmt.Errorf("service %s/%s: %s", svc.Namespace, svc.Name, problem)
	}
	if live := c.Service(svc.Namespace, svc.Name); live != nil {
		if svc, err = merge(live, text); err != nil {
			return nil, fmt.Errorf("service %s/%s: %w", live.Namespace, live.Name, err)
		}
	} else {
		svc.UID, svc.CreationTimestamp = types.UID(unborn+svc.Namespace+"/"+svc.Name), metav1.NewTime(now)
		svc.Status = v1.ServiceStatus{}
	}
	lint.Complete(svc)
	return svc, nil
}

// merge applies a manifest to what exists: what the manifest had when it was last
// applied and has no more goes, and what others wrote stays.
func merge(live *v1.Service, manifest []byte) (*v1.Service, error) {
	current, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("encode what exists: %w", err)
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(v1.Service{})
	if err != nil {
		return nil, fmt.Errorf("learn how Services are merged: %w", err)
	}
	original := []byte(live.Annotations[v1.LastAppliedConfigAnnotation])
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, manifest, current, meta, true)
	if err != nil {
		return nil, fmt.Errorf("compare the manifest with what exists: %w", err)
	}
	merged, err := strategicpatch.StrategicMergePatch(current, patch, v1.Service{})
	if err != nil {
		return nil, fmt.Errorf("merge the manifest with what exists: %w", err)
	}
	svc := &v1.Service{}
	if err := json.Unmarshal(merged, svc); err != nil {
		return nil, fmt.Errorf("read the merged Service: %w", err)
	}
	svc.UID, svc.CreationTimestamp, svc.Status = live.UID, live.CreationTimestamp, live.Status
	return svc, nil
}
