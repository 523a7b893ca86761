package firewall

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	minPort = 1
	maxPort = 65535
)

// Range is the ports From to To, both included.
type Range struct{ From, To int }

// allPorts is also what stands for the ports of ICMP, which has none.
var allPorts = Range{minPort, maxPort}

// String is the range as people write it.
func (r Range) String() string {
	switch {
	case r == allPorts:
		return "all ports"
	case r.From == r.To:
		return strconv.Itoa(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

// Ports is a set of ports in normal form: sorted ranges of which no two touch.
type Ports []Range

// normalPorts joins ranges that overlap or are adjacent.
func normalPorts(ranges []Range) Ports {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	var joined Ports
	for _, r := range sorted {
		if n := len(joined); n > 0 && r.From <= joined[n-1].To+1 {
			joined[n-1].To = max(joined[n-1].To, r.To)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// minus returns the ports that are not among others.
func (p Ports) minus(others Ports) Ports {
	var rest Ports
	for _, r := range p {
		for _, o := range others {
			if o.To < r.From || o.From > r.To {
				continue
			}
			if o.From > r.From {
				rest = append(rest, Range{r.From, o.From - 1})
			}
			r.From = o.To + 1
		}
		if r.From <= r.To {
			rest = append(rest, r)
		}
	}
	return rest
}

func (p Ports) contains(port int) bool {
	return slices.ContainsFunc(p, func(r Range) bool { return r.From <= port && port <= r.To })
}

// parsePorts reads the ports of a rule. The API reads "all" and "1-65535" back
// as "0", and no ports too.
func parsePorts(text string) (Range, bool) {
	switch text {
	case "", "0", "all":
		return allPorts, true
	}
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	from, errFrom := strconv.Atoi(low)
	to, errTo := strconv.Atoi(high)
	if errFrom != nil || errTo != nil || from < minPort || to > maxPort || from > to {
		return Range{}, false
	}
	return Range{from, to}, true
}

// text is the range as the API takes it: it has refused "0" at times, which is
// how it reads "all" back, and takes no ports for ICMP.
func (r Range) text(protocol string) string {
	switch {
	case protocol == protocolICMP:
		return ""
	case r == allPorts:
		return "all"
	}
	return r.String()
}
