package doapi

import "strings"

// otherEndpoint stands for every path that the table doesn't have, so that the
// metric's label stays bounded.
const otherEndpoint = "other"

// endpoints are the API's paths as templates, without the leading "/v2/". A
// literal comes before the template that would match it too.
var endpoints = splitAll([]string{
	"account", "account/keys", "account/keys/{id}",
	"actions", "actions/{id}",
	"certificates", "certificates/{id}",
	"droplets", "droplets/actions", "droplets/{id}",
	"droplets/{id}/actions", "droplets/{id}/actions/{id}", "droplets/{id}/firewalls", "droplets/{id}/neighbors",
	"firewalls", "firewalls/{id}", "firewalls/{id}/droplets", "firewalls/{id}/rules", "firewalls/{id}/tags",
	"images", "images/{id}",
	"load_balancers", "load_balancers/{id}", "load_balancers/{id}/cache",
	"load_balancers/{id}/droplets", "load_balancers/{id}/forwarding_rules",
	"monitoring/alerts", "monitoring/alerts/{id}",
	"projects", "projects/default", "projects/default/resources", "projects/{id}", "projects/{id}/resources",
	"regions",
	"reserved_ips", "reserved_ips/{id}", "reserved_ips/{id}/actions", "reserved_ips/{id}/actions/{id}",
	"reserved_ipv6", "reserved_ipv6/{id}", "reserved_ipv6/{id}/actions",
	"sizes",
	"tags", "tags/{id}", "tags/{id}/resources",
	"volumes", "volumes/{id}", "volumes/{id}/actions",
	"vpc_peerings", "vpc_peerings/{id}",
	"vpcs", "vpcs/{id}", "vpcs/{id}/members", "vpcs/{id}/subnets", "vpcs/{id}/subnets/{id}",
})

func splitAll(paths []string) [][]string {
	split := make([][]string, len(paths))
	for i, p := range paths {
		split[i] = strings.Split(p, "/")
	}
	return split
}

// endpoint gives the template of a request's path, such as
// "/v2/load_balancers/{id}/droplets".
func endpoint(path string) string {
	rest, ok := strings.CutPrefix(path, "/v2/")
	if !ok {
		return otherEndpoint
	}
	parts := strings.Split(rest, "/")
	for _, template := range endpoints {
		if matches(template, parts) {
			return "/v2/" + strings.Join(template, "/")
		}
	}
	return otherEndpoint
}

func matches(template, parts []string) bool {
	if len(template) != len(parts) {
		return false
	}
	for i, t := range template {
		if t != parts[i] && (t != "{id}" || parts[i] == "") {
			return false
		}
	}
	return true
}
