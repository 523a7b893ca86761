package simulator

import (
	"fmt"
	"iter"
	"net/netip"
)

// Public addresses come from ranges that are reserved for documentation and
// benchmarks, so that nothing which leaks from a test reaches a stranger.
var (
	dropletPrefixes = []netip.Prefix{
		netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("198.18.0.0/16"),
	}
	balancerPrefixes = []netip.Prefix{
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.19.0.0/16"),
	}
	dropletPrefix6  = netip.MustParsePrefix("2001:db8:1::/64")
	balancerPrefix6 = netip.MustParsePrefix("2001:db8:2::/64")
)

// addressBook hands out addresses, each to one owner at a time over all teams.
type addressBook struct {
	used map[netip.Addr]bool
	// next is where the search in a pool goes on.
	next map[string]netip.Addr
	// networks counts the address ranges given to VPCs.
	networks int
}

func newAddressBook() *addressBook {
	return &addressBook{used: map[netip.Addr]bool{}, next: map[string]netip.Addr{}}
}

// reserve marks an address that somebody chose, if it is one.
func (b *addressBook) reserve(addresses ...string) {
	for _, text := range addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			b.used[a] = true
		}
	}
}

// release makes addresses free again. The search goes on behind them, so they
// are not given out again soon.
func (b *addressBook) release(addresses []string) {
	for _, text := range addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			delete(b.used, a)
		}
	}
}

// take returns a free address of the first prefix that has one.
func (b *addressBook) take(prefixes ...netip.Prefix) string {
	for _, prefix := range prefixes {
		if a, ok := b.takeFrom(prefix); ok {
			return a.String()
		}
	}
	// More than any of the pools is meant for; a duplicate would mislead.
	panic(fmt.Sprintf("no address left in %v", prefixes))
}

func (b *addressBook) takeFrom(prefix netip.Prefix) (netip.Addr, bool) {
	for a := range b.free(prefix) {
		b.used[a] = true
		b.next[prefix.String()] = a.Next()
		return a, true
	}
	return netip.Addr{}, false
}

// has tells whether a prefix has so many free addresses.
func (b *addressBook) has(prefix netip.Prefix, count int) bool {
	for range b.free(prefix) {
		if count--; count <= 0 {
			return true
		}
	}
	return count <= 0
}

// free walks the free addresses of a prefix from where the search stopped, so
// that released ones rest for a while, and from the start when it comes to the
// end.
func (b *addressBook) free(prefix netip.Prefix) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		first := prefix.Masked().Addr().Next().Next()
		start, ok := b.next[prefix.String()]
		if !ok {
			start = first
		}
		// The last address of a network is for broadcast.
		for a := start; prefix.Contains(a.Next()); a = a.Next() {
			if !b.used[a] && usable(a) && !yield(a) {
				return
			}
		}
		for a := first; a.Less(start); a = a.Next() {
			if !b.used[a] && usable(a) && !yield(a) {
				return
			}
		}
	}
}

// usable leaves out what looks like a network, gateway or broadcast address of
// a /24, which people take for a mistake.
func usable(a netip.Addr) bool {
	if a.Is6() {
		return true
	}
	last := a.As4()[3]
	return last > 1 && last < 255
}

// vpcRange returns the next range for a VPC: a /16, to have room for 10,000
// droplets. Ranges that DigitalOcean reserves, or that Kubernetes uses by
// default for Services and pods, are left out.
func (b *addressBook) vpcRange() netip.Prefix {
	for {
		second := (116 + b.networks) % 256
		b.networks++
		switch {
		case second == 0, second >= 96 && second <= 111, second == 229, second >= 244 && second <= 246:
			continue
		}
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(second), 0, 0}), 16)
	}
}

func publicV4(address string) NetworkV4 {
	n := NetworkV4{IPAddress: address, Netmask: "255.255.255.0", Type: "public"}
	if a, err := netip.ParseAddr(address); err == nil && a.Is4() {
		b := a.As4()
		b[3] = 1
		n.Gateway = netip.AddrFrom4(b).String()
	}
	return n
}

func privateV4(address string) NetworkV4 {
	n := NetworkV4{IPAddress: address, Netmask: "255.255.0.0", Type: "private"}
	if a, err := netip.ParseAddr(address); err == nil && a.Is4() {
		b := a.As4()
		b[2], b[3] = 0, 1
		n.Gateway = netip.AddrFrom4(b).String()
	}
	return n
}

func publicV6(address string) NetworkV6 {
	n := NetworkV6{IPAddress: address, Netmask: 64, Type: "public"}
	if a, err := netip.ParseAddr(address); err == nil && a.Is6() {
		n.Gateway = netip.PrefixFrom(a, n.Netmask).Masked().Addr().Next().String()
	}
	return n
}
