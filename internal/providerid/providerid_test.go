package providerid

import (
	"errors"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		providerID string
		want       int
	}{
		{"digitalocean://1", 1},
		{"digitalocean://512345678", 512345678},
		{"digitalocean://4294967297", 4294967297},
		{"", 0},
		{"123456", 0},
		{"digitalocean://", 0},
		{"digitalocean://0", 0},
		{"digitalocean://-5", 0},
		{"digitalocean://+5", 0},
		{"digitalocean://007", 0},
		{"digitalocean://5 ", 0},
		{"digitalocean:///5", 0},
		{"digitalocean://abc", 0},
		{"digitalocean://5/6", 0},
		{"digitalocean://99999999999999999999999", 0},
		{"DigitalOcean://5", 0},
		{"aws:///us-east-1a/i-0abc", 0},
		{"k3s://node-1", 0},
	}
	for _, test := range tests {
		t.Run(test.providerID, func(t *testing.T) {
			got, err := Parse(test.providerID)
			if got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
			if isOurs := err == nil; isOurs != (test.want > 0) || (!isOurs && !errors.Is(err, ErrNotOurs)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("digitalocean://5")
	f.Add("digitalocean://")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := Parse(s)
		if err == nil && ForDroplet(id) != s {
			t.Errorf("%q is read as %d, which is written %q", s, id, ForDroplet(id))
		}
		if err == nil && id <= 0 {
			t.Errorf("%q is read as %d", s, id)
		}
	})
}
