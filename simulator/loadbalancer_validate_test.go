package simulator_test

import (
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

// validation is a change to a valid request and the reason why it is refused;
// an empty reason means that it is accepted.
type validation struct {
	change func(*godo.LoadBalancerRequest)
	reason string
}

func rule(entry string, port int, target string, targetPort int) godo.ForwardingRule {
	return godo.ForwardingRule{EntryProtocol: entry, EntryPort: port, TargetProtocol: target, TargetPort: targetPort}
}

func secured(r godo.ForwardingRule, certificate string) godo.ForwardingRule {
	r.CertificateID = certificate
	return r
}

func passing(r godo.ForwardingRule) godo.ForwardingRule {
	r.TlsPassthrough = true
	return r
}

func rules(list ...godo.ForwardingRule) func(*godo.LoadBalancerRequest) {
	return func(r *godo.LoadBalancerRequest) { r.ForwardingRules = list }
}

// checkAll asks with validate_only and for real, which have to agree.
func checkAll(t *testing.T, w *world, base func() *godo.LoadBalancerRequest, cases map[string]validation) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, validateOnly := range []bool{true, false} {
				req := base()
				tc.change(req)
				req.ValidateOnly = validateOnly
				made, _, err := w.client.LoadBalancers.Create(t.Context(), req)
				if tc.reason != "" {
					wantRefusal(t, err, 422, tc.reason)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if !validateOnly {
					ok(t)(w.client.LoadBalancers.Delete(t.Context(), made.ID))
				}
			}
		})
	}
}

func TestForwardingRulesAreChecked(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(0, 0))
	cert := w.AddCertificate(simulator.CertificateSpec{Name: "c"}).ID
	https := secured(rule("https", 443, "http", 80), cert)
	checkAll(t, w, func() *godo.LoadBalancerRequest { return lbRequest("a") }, map[string]validation{
		"none":                       {rules(), "at least one forwarding rule is required"},
		"unknown protocol":           {rules(rule("sctp", 1, "sctp", 1)), `entry protocol "sctp" is invalid`},
		"any case":                   {rules(rule("TCP", 1, "Tcp", 1)), ""},
		"lowest ports":               {rules(rule("tcp", 1, "tcp", 1)), ""},
		"highest ports":              {rules(rule("tcp", 65535, "tcp", 65535)), ""},
		"no entry port":              {rules(rule("tcp", 0, "tcp", 1)), "entry port is invalid"},
		"entry port too high":        {rules(rule("tcp", 65536, "tcp", 1)), "entry port is invalid"},
		"no target port":             {rules(rule("tcp", 1, "tcp", 0)), "target port is invalid"},
		"below the reserved":         {rules(rule("tcp", 50052, "tcp", 1)), ""},
		"first reserved":             {rules(rule("tcp", 50053, "tcp", 1)), "entry port is invalid"},
		"last reserved":              {rules(rule("tcp", 50055, "tcp", 1)), "entry port is invalid"},
		"above the reserved":         {rules(rule("tcp", 50056, "tcp", 1)), ""},
		"same port":                  {rules(rule("tcp", 1, "tcp", 1), rule("http", 1, "http", 2)), "entry port 1 is used"},
		"same port, other transport": {rules(rule("tcp", 1, "tcp", 1), rule("udp", 1, "udp", 1)), ""},
		"udp to tcp":                 {rules(rule("udp", 1, "tcp", 1)), `target protocol "tcp" is invalid`},
		"tcp to udp":                 {rules(rule("tcp", 1, "udp", 1)), `target protocol "udp" is invalid`},
		"http to https":              {rules(rule("http", 1, "https", 1)), `target protocol "https" is invalid`},
		"https with certificate":     {rules(https), ""},
		"https re-encrypted":         {rules(secured(rule("https", 443, "https", 443), cert)), ""},
		"http2 with certificate":     {rules(secured(rule("http2", 443, "http", 80), cert)), ""},
		"https without either":       {rules(rule("https", 443, "http", 80)), "https requires a certificate_id or tls_passthrough"},
		"https with both":            {rules(passing(secured(rule("https", 443, "https", 443), cert))), "cannot be used together"},
		"unknown certificate":        {rules(secured(rule("https", 443, "http", 80), "none")), "certificate none could not be found"},
		"https passed through":       {rules(passing(rule("https", 443, "https", 443))), ""},
		"http2 passed through":       {rules(passing(rule("http2", 443, "http2", 443))), ""},
		"passed through to http":     {rules(passing(rule("https", 443, "http", 80))), "tls_passthrough requires"},
		"tcp passed through":         {rules(passing(rule("tcp", 443, "tcp", 443))), "tls_passthrough requires"},
		"http3 beside https":         {rules(https, secured(rule("http3", 443, "http", 80), cert)), ""},
		"http3 alone":                {rules(secured(rule("http3", 443, "http", 80), cert)), "requires an https or http2 forwarding rule"},
		"http3 and udp on one port":  {rules(https, rule("udp", 443, "udp", 1), secured(rule("http3", 443, "http", 80), cert)), "entry port 443 is used"},
		"http3 as target":            {rules(secured(rule("https", 443, "http3", 80), cert)), `target protocol "http3" is invalid`},
		"http3 passed through":       {rules(https, passing(rule("http3", 443, "http2", 80))), "tls_passthrough requires"},
		"redirect with http and https": {func(r *godo.LoadBalancerRequest) {
			r.ForwardingRules, r.RedirectHttpToHttps = []godo.ForwardingRule{rule("http", 80, "http", 80), https}, true
		}, ""},
		"redirect without http": {func(r *godo.LoadBalancerRequest) {
			r.ForwardingRules, r.RedirectHttpToHttps = []godo.ForwardingRule{https}, true
		}, "redirect_http_to_https requires"},
	})
}

func TestFieldsOfALoadBalancerAreChecked(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(0, 0))
	createLB(t, w, lbRequest("taken"))
	near := w.AddDroplet(simulator.DropletSpec{}).ID
	far := w.AddDroplet(simulator.DropletSpec{Region: "fra1"}).ID
	vpc, farVPC := w.AddVPC("", "one", "nyc3"), w.AddVPC("", "two", "fra1")
	type req = *godo.LoadBalancerRequest
	idle := func(n uint64) func(req) { return func(r req) { r.HTTPIdleTimeoutSeconds = &n } }
	health := func(h godo.HealthCheck) func(req) { return func(r req) { r.HealthCheck = &h } }
	sticky := func(kind, name string, ttl int) func(req) {
		return func(r req) {
			r.StickySessions = &godo.StickySessions{Type: kind, CookieName: name, CookieTtlSeconds: ttl}
		}
	}
	allow := func(source string) func(req) {
		return func(r req) { r.Firewall = &godo.LBFirewall{Allow: []string{source}} }
	}
	const otherVPC = "some of the specified target droplets don't belong to the same VPC as the Load Balancer"
	checkAll(t, w, func() *godo.LoadBalancerRequest { return lbRequest("a") }, map[string]validation{
		"no name":              {func(r req) { r.Name = "" }, "name is required"},
		"name with underscore": {func(r req) { r.Name = "a_b" }, "name is invalid"},
		"name ends with dash":  {func(r req) { r.Name = "a-" }, "name is invalid"},
		"name begins with dot": {func(r req) { r.Name = ".a" }, "name is invalid"},
		"longest name":         {func(r req) { r.Name = strings.Repeat("a", 255) }, ""},
		"name too long":        {func(r req) { r.Name = strings.Repeat("a", 256) }, "name is invalid"},
		"name taken":           {func(r req) { r.Name = "taken" }, "name is not unique"},
		"no region":            {func(r req) { r.Region = "" }, "region is required"},
		"unknown region":       {func(r req) { r.Region = "moon1" }, "region"},
		"unknown type":         {func(r req) { r.Type = "LOCAL" }, "type"},
		"type in lower case":   {func(r req) { r.Type = "regional" }, ""},
		"unknown network":      {func(r req) { r.Network = "x" }, "network"},
		"unknown stack":        {func(r req) { r.NetworkStack = "IPV6" }, "network_stack"},
		"internal dual stack":  {func(r req) { r.Network, r.NetworkStack = "INTERNAL", "DUALSTACK" }, "DUALSTACK"},
		"unknown TLS policy":   {func(r req) { r.TLSCipherPolicy = "WEAK" }, "tls_cipher_policy"},
		"old algorithm":        {func(r req) { r.Algorithm = "least_connections" }, ""},
		"unknown algorithm":    {func(r req) { r.Algorithm = "random" }, "algorithm"},
		"size by name":         {func(r req) { r.SizeSlug = "lb-medium" }, ""},
		"unknown size":         {func(r req) { r.SizeSlug = "lb-huge" }, "size"},
		"most nodes":           {func(r req) { r.SizeUnit = 200 }, ""},
		"too many nodes":       {func(r req) { r.SizeUnit = 201 }, "size_unit must be between 1 and 200"},
		"both sizes":           {func(r req) { r.SizeSlug, r.SizeUnit = "lb-small", 1 }, "only one of size and size_unit"},
		"VPC of the region":    {func(r req) { r.VPCUUID = vpc.ID }, ""},
		"VPC of another":       {func(r req) { r.VPCUUID = farVPC.ID }, "vpc_uuid"},
		"subnet alone":         {func(r req) { r.VPCSubnetUUID = "s" }, "subnet_uuid requires vpc_uuid"},
		"unknown project":      {func(r req) { r.ProjectID = "p" }, "project p could not be found"},
		"droplet":              {func(r req) { r.DropletIDs = []int{near} }, ""},
		"unknown droplet":      {func(r req) { r.DropletIDs = []int{1} }, "droplet 1 could not be found"},
		"droplet elsewhere":    {func(r req) { r.DropletIDs = []int{near, far} }, otherVPC},
		"droplet, other VPC":   {func(r req) { r.DropletIDs, r.VPCUUID = []int{near}, vpc.ID }, otherVPC},
		"tag and droplets":     {func(r req) { r.DropletIDs, r.Tag = []int{near}, "x" }, "only one of tag and droplet_ids"},
		"bad tag":              {func(r req) { r.Tag = "a.b" }, `tag "a.b" is invalid`},
		"bad own tag":          {func(r req) { r.Tags = []string{"a/b"} }, `tag "a/b" is invalid`},
		"shortest idle time":   {idle(30), ""},
		"idle time too short":  {idle(29), "http_idle_timeout_seconds must be between 30 and 600"},
		"longest idle time":    {idle(600), ""},
		"idle time too long":   {idle(601), "http_idle_timeout_seconds"},
		"udp health check":     {health(godo.HealthCheck{Protocol: "udp", Port: 1}), "health check only supports TCP and HTTP"},
		"tcp with path":        {health(godo.HealthCheck{Protocol: "tcp", Path: "/"}), "path is not allowed"},
		"path without slash":   {health(godo.HealthCheck{Path: "x"}), "path must begin with /"},
		"health port":          {health(godo.HealthCheck{Port: 65536}), "health check port"},
		"short interval":       {health(godo.HealthCheck{CheckIntervalSeconds: 2}), "check_interval_seconds must be between 3 and 300"},
		"long timeout":         {health(godo.HealthCheck{ResponseTimeoutSeconds: 301}), "response_timeout_seconds must be between 3 and 300"},
		"low threshold":        {health(godo.HealthCheck{UnhealthyThreshold: 1}), "unhealthy_threshold must be between 2 and 10"},
		"high threshold":       {health(godo.HealthCheck{HealthyThreshold: 11}), "healthy_threshold must be between 2 and 10"},
		"health bounds": {health(godo.HealthCheck{
			CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 300, HealthyThreshold: 2, UnhealthyThreshold: 10,
		}), ""},
		"sticky":                 {sticky("cookies", "ab", 1), ""},
		"sticky of another kind": {sticky("ip", "ab", 1), "sticky_sessions type"},
		"sticky without name":    {sticky("cookies", "", 1), "cookie_name must have 2 to 40 characters"},
		"sticky, long name":      {sticky("cookies", strings.Repeat("a", 41), 1), "cookie_name"},
		"sticky without ttl":     {sticky("cookies", "ab", 0), "cookie_ttl_seconds must be at least 1"},
		"not sticky, with name":  {sticky("none", "ab", 1), ""},
		"allow an address":       {allow("ip:192.0.2.1"), ""},
		"allow a range":          {allow("cidr:192.0.2.0/24"), ""},
		"allow without kind":     {allow("192.0.2.1"), "firewall rule"},
		"allow nonsense":         {allow("cidr:192.0.2.1"), "firewall rule"},
		"settings of GLOBAL":     {func(r req) { r.GLBSettings = &godo.GLBSettings{} }, "require type GLOBAL"},
	})
}

func TestNetworkLoadBalancersAreChecked(t *testing.T) {
	w := newWorld(t)
	base := func() *godo.LoadBalancerRequest {
		req := lbRequest("a")
		req.Type = "REGIONAL_NETWORK"
		req.ForwardingRules = []godo.ForwardingRule{rule("tcp", 80, "tcp", 80), rule("udp", 80, "udp", 80)}
		return req
	}
	many := []godo.ForwardingRule{}
	for port := range 41 {
		many = append(many, rule("tcp", port+1, "tcp", port+1))
	}
	type req = *godo.LoadBalancerRequest
	checkAll(t, w, base, map[string]validation{
		"tcp and udp":    {func(req) {}, ""},
		"http":           {rules(rule("http", 80, "http", 80)), "only supports tcp and udp"},
		"other port":     {rules(rule("tcp", 80, "tcp", 81)), "must be equal"},
		"most rules":     {rules(many[:40]...), ""},
		"too many rules": {rules(many...), "at most 40 forwarding rules"},
		"PROXY protocol": {func(r req) { r.EnableProxyProtocol = true }, "enable_proxy_protocol is not available"},
		"keepalive":      {func(r req) { r.EnableBackendKeepalive = true }, "enable_backend_keepalive is not available"},
		"sticky": {func(r req) {
			r.StickySessions = &godo.StickySessions{Type: "cookies", CookieName: "ab", CookieTtlSeconds: 1}
		}, "sticky_sessions is not available"},
	})
}

func TestGlobalLoadBalancersAreChecked(t *testing.T) {
	w := newWorld(t)
	regional := createLB(t, w, lbRequest("regional")).ID
	base := func() *godo.LoadBalancerRequest {
		return &godo.LoadBalancerRequest{
			Name: "g", Type: "GLOBAL", TargetLoadBalancerIDs: []string{regional},
			GLBSettings: &godo.GLBSettings{TargetProtocol: "HTTP", TargetPort: 80, CDN: &godo.CDNSettings{IsEnabled: true}},
			Domains:     []*godo.LBDomain{{Name: "example.com"}},
		}
	}
	type req = *godo.LoadBalancerRequest
	checkAll(t, w, base, map[string]validation{
		"valid":          {func(req) {}, ""},
		"region":         {func(r req) { r.Region = "nyc3" }, "region is not allowed"},
		"rules":          {rules(rule("tcp", 80, "tcp", 80)), "forwarding_rules are not allowed"},
		"internal":       {func(r req) { r.Network = "INTERNAL" }, "cannot be INTERNAL"},
		"size":           {func(r req) { r.SizeUnit = 2 }, "cannot be scaled"},
		"no settings":    {func(r req) { r.GLBSettings = nil }, "glb_settings is required"},
		"other port":     {func(r req) { r.GLBSettings.TargetPort = 81 }, "target_port must be 80 or 443"},
		"other protocol": {func(r req) { r.GLBSettings.TargetProtocol = "tcp" }, "target_protocol"},
		"threshold":      {func(r req) { r.GLBSettings.FailoverThreshold = 100 }, "failover_threshold"},
		"unknown target": {func(r req) { r.TargetLoadBalancerIDs = []string{"x"} }, "target load balancer x"},
	})

	made := createLB(t, w, base())
	if got := getLB(t, w, made.ID); got.Region != nil || got.IP == "" || got.Domains[0].Status == "" || len(got.ForwardingRules) != 0 {
		t.Errorf("read back %+v", got)
	}
	ok(t)(w.client.LoadBalancers.PurgeCache(t.Context(), made.ID))
	_, err := w.client.LoadBalancers.PurgeCache(t.Context(), regional)
	wantRefusal(t, err, 422, "no CDN cache")
}

func TestWhatALoadBalancerKeepsForLife(t *testing.T) {
	w := newWorld(t)
	vpc := w.AddVPC("", "one", "nyc3")
	createLB(t, w, lbRequest("taken"))
	lb := createLB(t, w, lbRequest("a"))
	type req = *godo.LoadBalancerRequest
	for name, tc := range map[string]validation{
		"same":          {func(r req) { r.Type, r.Network, r.NetworkStack = "regional", "EXTERNAL", "IPV4" }, ""},
		"new name":      {func(r req) { r.Name = "b" }, ""},
		"taken name":    {func(r req) { r.Name = "taken" }, "name is not unique"},
		"region":        {func(r req) { r.Region = "fra1" }, "region cannot be changed"},
		"no region":     {func(r req) { r.Region = "" }, "region is required"},
		"no rules":      {rules(), "at least one forwarding rule"},
		"type":          {func(r req) { r.Type = "REGIONAL_NETWORK" }, "type cannot be changed"},
		"network":       {func(r req) { r.Network = "INTERNAL" }, "network cannot be changed"},
		"network stack": {func(r req) { r.NetworkStack = "DUALSTACK" }, "network_stack cannot be changed"},
		"VPC":           {func(r req) { r.VPCUUID = vpc.ID }, "vpc_uuid cannot be changed"},
		"subnet":        {func(r req) { r.VPCSubnetUUID = "s" }, "subnet_uuid cannot be changed"},
		"address":       {func(r req) { r.IP = "198.51.100.1" }, "ip cannot be changed"},
		"both sizes":    {func(r req) { r.SizeSlug, r.SizeUnit = "lb-small", 1 }, "only one of size and size_unit"},
	} {
		t.Run(name, func(t *testing.T) {
			req := lbRequest("a")
			tc.change(req)
			_, _, err := w.client.LoadBalancers.Update(t.Context(), lb.ID, req)
			if tc.reason != "" {
				wantRefusal(t, err, 422, tc.reason)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	_, _, err := w.client.LoadBalancers.Update(t.Context(), "unknown", lbRequest("a"))
	wantRefusal(t, err, 404, "The resource you requested could not be found.")
}
