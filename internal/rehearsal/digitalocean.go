package rehearsal

import "strings"

// kindsOfPaths are what requests to DigitalOcean are about, by the part of their
// path after /v2/.
var kindsOfPaths = map[string]string{"load_balancers": KindLoadBalancer, "firewalls": KindFirewall, "tags": KindTag}

// DigitalOcean notes a request to DigitalOcean's API that is not sent.
func (b *Book) DigitalOcean(method, path, body string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	kind := KindOther
	if len(parts) > 1 && kindsOfPaths[parts[1]] != "" {
		kind = kindsOfPaths[parts[1]]
	}
	b.Note(kind, method+" "+path, body)
}
