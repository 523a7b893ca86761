package annotation

import (
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/internal/golden"
)

func TestDocumentationIsCurrent(t *testing.T) {
	golden.Check(t, "../../docs/annotations.md", Document())
}

func TestDocumentNamesEveryAnnotationTwice(t *testing.T) {
	// Once in the table of contents, once as a heading that its link leads to.
	page := Document()
	for _, d := range Registry {
		for _, want := range []string{"  - [`" + d.Key + "`](#", "\n### `" + d.Key + "`\n"} {
			if n := strings.Count(page, want); n != 1 {
				t.Errorf("%q is there %d times", want, n)
			}
		}
	}
}
