package annotation

import (
	"testing"

	"digitalocean-cloud-controller-manager/internal/golden"
)

func TestDocumentationIsCurrent(t *testing.T) {
	golden.Check(t, "../../docs/annotations.md", Document())
}
