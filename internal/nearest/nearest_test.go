package nearest

import (
	"strings"
	"testing"
)

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"ab", "", 2}, {"typ", "type", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"ab", "ba", 2}} {
		if got := editDistance(test.a, test.b, 9); got != test.want {
			t.Errorf("%q and %q are %d apart, want %d", test.a, test.b, got, test.want)
		}
	}
	if got := editDistance("a", strings.Repeat("a", 300), 3); got <= 3 {
		t.Errorf("far words are %d apart", got)
	}
}

func TestOfFindsWhatWasMeant(t *testing.T) {
	known := []string{"region", "api.url", "api.token", "id"}
	for name, want := range map[string]string{"regoin": "region", "api.URI": "", "api.tokn": "api.token", "di": "", "colour": ""} {
		if got := Of(name, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}
