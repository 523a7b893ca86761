package annotation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalizeSource(t *testing.T) {
	tests := []struct{ source, want string }{
		{"ip:203.0.113.7", "ip:203.0.113.7"},
		{" ip: 203.0.113.7 ", "ip:203.0.113.7"},
		{"ip:2001:DB8:0::1", "ip:2001:db8::1"},
		{"ip:::ffff:192.0.2.1", "ip:192.0.2.1"},
		{"cidr:203.0.113.7/32", "ip:203.0.113.7"},
		{"cidr:2001:db8::1/128", "ip:2001:db8::1"},
		{"cidr:198.51.100.77/24", "cidr:198.51.100.0/24"},
		{"cidr:2001:db8:1::/32", "cidr:2001:db8::/32"},
		{"cidr:::ffff:192.0.2.9/120", "cidr:192.0.2.0/24"},
		{"cidr:::ffff:192.0.2.9/128", "ip:192.0.2.9"},
		{"cidr:10.1.2.3/0", "cidr:0.0.0.0/0"},
		{"cidr:::/0", "cidr:::/0"},
	}
	for _, test := range tests {
		got, err := NormalizeSource(test.source)
		if err != nil || got != test.want {
			t.Errorf("%q: %q, %v, want %q", test.source, got, err, test.want)
		}
		if again, err := NormalizeSource(got); err != nil || again != got {
			t.Errorf("%q isn't normal: %q, %v", got, again, err)
		}
	}
}

func TestNormalizeSourceRefuses(t *testing.T) {
	for _, source := range []string{
		"", "ip:", "cidr:", "203.0.113.7", "203.0.113.0/24", "IP:203.0.113.7", "ip:203.0.113.0/24", "cidr:203.0.113.7",
		"ip:fe80::1%eth0", "cidr:fe80::1%eth0/64", "cidr:203.0.113.0/33", "cidr:203.0.113.0/-1", "ip:203.0.113", "ip:example.com", "cidr:cidr:10.0.0.0/8",
	} {
		if got, err := NormalizeSource(source); err == nil {
			t.Errorf("%q is taken as %q", source, got)
		}
	}
}

func TestSourceRanges(t *testing.T) {
	tests := []struct {
		name       string
		ranges     []string
		rules      string
		want       []string
		wantFields []string
	}{
		{"ranges alone", []string{"10.1.2.3/8", " 192.0.2.1/32 ", "10.0.0.0/8", "2001:db8::/32"}, "", []string{"cidr:10.0.0.0/8", "cidr:2001:db8::/32", "ip:192.0.2.1"}, nil},
		{"ranges win", []string{"10.0.0.0/8"}, "ip:192.0.2.1", []string{"cidr:10.0.0.0/8"}, nil},
		{"rules without ranges", []string{}, "ip:192.0.2.1", []string{"ip:192.0.2.1"}, nil},
		{"invalid ranges", []string{"10.0.0.0/8", "10.0.0.1", ""}, "", []string{"cidr:10.0.0.0/8"}, []string{"spec.loadBalancerSourceRanges[1]", "spec.loadBalancerSourceRanges[2]"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := service(annotations{AllowRules: test.rules})
			svc.Spec.LoadBalancerSourceRanges = test.ranges
			spec, problems := Parse(svc, Defaults{Type: TypeRegionalNetwork})
			if diff := cmp.Diff(test.want, spec.AllowRules); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.wantFields, fields(problems)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func fields(problems []Problem) []string {
	var fields []string
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	return fields
}
