package mangle

import (
	"slices"
	"testing"
)

const one = `{"droplet":{"id":12345678901234567890,"tags":["a","b"],"networks":{"v4":[{"type":"public"},{"type":"private"}]}}}`

func TestApplyChangesOneFieldWhereverItIs(t *testing.T) {
	tests := []struct {
		answer string
		change Change
		want   string
	}{
		{one, Change{"droplet.id", Removed}, `{"droplet":{"networks":{"v4":[{"type":"public"},{"type":"private"}]},"tags":["a","b"]}}`},
		{one, Change{"droplet.networks.v4[].type", Null}, `{"droplet":{"id":12345678901234567890,"networks":{"v4":[{"type":null},{"type":null}]},"tags":["a","b"]}}`},
		{one, Change{"droplet.tags[]", Removed}, `{"droplet":{"id":12345678901234567890,"networks":{"v4":[{"type":"public"},{"type":"private"}]},"tags":[]}}`},
		{one, Change{"droplet.tags", Empty}, `{"droplet":{"id":12345678901234567890,"networks":{"v4":[{"type":"public"},{"type":"private"}]},"tags":[]}}`},
		{one, Change{"droplet", Object}, `{"droplet":{"mangled":"mangled"}}`},
		{`{"droplets":[{"id":1},{"id":2}],"meta":{"total":2}}`, Change{"droplet.id", Text}, `{"droplets":[{"id":"mangled"},{"id":"mangled"}],"meta":{"total":2}}`},
		{`{"droplets":[{"id":1}],"meta":{"total":1}}`, Change{"droplets", Null}, `{"droplets":null,"meta":{"total":1}}`},
		{`{"droplets":[{"id":1}]}`, Change{"account.id", Null}, `{"droplets":[{"id":1}]}`},
		{`no JSON`, Change{"droplet", Null}, `no JSON`},
	}
	for _, test := range tests {
		t.Run(test.change.String(), func(t *testing.T) {
			if got := string(test.change.Apply([]byte(test.answer))); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestChangesAreOfEveryFieldOnce(t *testing.T) {
	changes := Changes([]byte(one), []byte(`{"droplets":[{"id":1,"name":"x"}]}`), []byte("no JSON"))
	var fields []Field
	for _, c := range changes {
		if c.Kind == Removed {
			fields = append(fields, c.Field)
		}
	}
	want := []Field{"droplet", "droplet.id", "droplet.name", "droplet.networks", "droplet.networks.v4", "droplet.networks.v4[]",
		"droplet.networks.v4[].type", "droplet.tags", "droplet.tags[]", "droplets"}
	if !slices.Equal(fields, want) {
		t.Errorf("%v, want %v", fields, want)
	}
	if len(changes) != len(want)*len(Kinds()) {
		t.Errorf("%d changes", len(changes))
	}
}
