package annotation

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

const (
	sourceIP   = "ip:"
	sourceCIDR = "cidr:"
)

// NormalizeSource returns the one spelling of a source of traffic, "ip:<address>"
// or "cidr:<address>/<bits>": the address as RFC 5952 and dotted decimals have
// it, the bits beyond the prefix cleared, and "ip:" where the prefix is one
// address. Two sources that let the same addresses in are equal then, but for
// how prefixes may be put together. It fails for anything else than an IPv4 or
// IPv6 address or prefix; an IPv6 zone and a prefix without length are refused.
func NormalizeSource(source string) (string, error) {
	source = strings.TrimSpace(source)
	if text, ok := strings.CutPrefix(source, sourceIP); ok {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || addr.Zone() != "" {
			return "", fmt.Errorf("parse source %q: not an IP address", source)
		}
		return sourceIP + addr.Unmap().String(), nil
	}
	text, ok := strings.CutPrefix(source, sourceCIDR)
	if !ok {
		return "", fmt.Errorf("parse source %q: begins with neither ip: nor cidr: as it must", source)
	}
	prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
	if err != nil {
		return "", fmt.Errorf("parse source %q: not an address with a prefix length", source)
	}
	prefix = unmap(prefix).Masked()
	if prefix.IsSingleIP() {
		return sourceIP + prefix.Addr().String(), nil
	}
	return sourceCIDR + prefix.String(), nil
}

// unmap turns a prefix of IPv4 written as IPv6 (::ffff:192.0.2.0/120) into one
// of IPv4.
func unmap(prefix netip.Prefix) netip.Prefix {
	const mapped = 96
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= mapped {
		return netip.PrefixFrom(addr.Unmap(), prefix.Bits()-mapped)
	}
	return prefix
}

var errNoSource = errors.New("no source")

// parseSources reads a list of sources into normal form. Blanks, empty entries
// and duplicates are forgiven. A list without any source is not: who wrote it
// meant to restrict, and without one everything is let in.
func parseSources(value string) ([]string, error) {
	var sources []string
	for entry := range entries(value) {
		source, err := NormalizeSource(entry)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	if len(sources) == 0 {
		return nil, errNoSource
	}
	return set(sources), nil
}
