package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldManager owns what Apply writes.
const fieldManager = "sandbox"

// Apply writes each of the YAML documents to the cluster, as
// kubectl apply --server-side does.
func Apply(ctx context.Context, config *rest.Config, manifests []byte) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("apply manifests: %w", err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("decode manifest: %w", err)
		case len(object.Object) == 0:
			continue // a document of comments only
		}
		err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}
