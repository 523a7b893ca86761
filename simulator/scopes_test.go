package simulator_test

import (
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/simulator"
)

// Each operation is refused without its scope and gets further with it alone.
func TestScopesOfOperations(t *testing.T) {
	for operation, scope := range map[string]string{
		"GET /v2/account":                              "account:read",
		"GET /v2/actions":                              "actions:read",
		"GET /v2/certificates":                         "certificate:read",
		"POST /v2/certificates":                        "certificate:create",
		"DELETE /v2/certificates/x":                    "certificate:delete",
		"HEAD /v2/droplets":                            "droplet:read",
		"POST /v2/droplets":                            "droplet:create",
		"DELETE /v2/droplets/1":                        "droplet:delete",
		"POST /v2/droplets/1/actions":                  "droplet:update",
		"POST /v2/droplets/actions":                    "droplet:update",
		"GET /v2/droplets/1/actions":                   "droplet:read",
		"GET /v2/droplets/1/firewalls":                 "firewall:read",
		"PUT /v2/firewalls/x":                          "firewall:update",
		"DELETE /v2/firewalls/x/rules":                 "firewall:update",
		"POST /v2/firewalls/x/tags":                    "firewall:update",
		"POST /v2/load_balancers":                      "load_balancer:create",
		"PUT /v2/load_balancers/x":                     "load_balancer:update",
		"DELETE /v2/load_balancers/x":                  "load_balancer:delete",
		"DELETE /v2/load_balancers/x/cache":            "load_balancer:delete",
		"POST /v2/load_balancers/x/droplets":           "load_balancer:update",
		"DELETE /v2/load_balancers/x/forwarding_rules": "load_balancer:update",
		"PATCH /v2/projects/default":                   "project:update",
		"GET /v2/projects/default/resources":           "project:read",
		"POST /v2/projects/x/resources":                "project:assign_resource",
		"GET /v2/regions":                              "regions:read",
		"POST /v2/reserved_ips/x/actions":              "reserved_ip:update",
		"GET /v2/sizes":                                "sizes:read",
		"POST /v2/tags/x/resources":                    "tag:create",
		"DELETE /v2/tags/x/resources":                  "tag:delete",
		"GET /v2/vpcs/x/members":                       "vpc:read",
		"PATCH /v2/vpcs/x":                             "vpc:update",
	} {
		t.Run(operation, func(t *testing.T) {
			w := newWorld(t, simulator.WithToken("with", "", scope), simulator.WithToken("without", "", "image:read", "image:create"))
			method, path, _ := strings.Cut(operation, " ")
			if got := w.doAs("with", method, path, "{}"); got.status == 403 {
				t.Errorf("with %s: %s", scope, got.body)
			}
			got := w.doAs("without", method, path, "{}")
			const want = `"id":"forbidden","message":"You are not authorized to perform this operation"`
			if got.status != 403 || method != "HEAD" && !strings.Contains(got.body, want) {
				t.Errorf("without: %d %s", got.status, got.body)
			}
		})
	}
}

func TestATokenForReadingOnly(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "", "*:read"))
	if got := w.do("GET", "/v2/droplets", ""); got.status != 200 {
		t.Errorf("reading: %d", got.status)
	}
	got := w.do("POST", "/v2/tags", `{"name":"x"}`)
	if got.status != 403 || !strings.Contains(got.body, "You do not have access for the attempted action.") {
		t.Errorf("writing: %d %s", got.status, got.body)
	}
}

func TestScopesHideFieldsAndGuardFirewalls(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "", "droplet:read", "firewall:*"), simulator.WithToken("all", ""))
	w.AddDroplet(simulator.DropletSpec{Tags: []string{"web"}})
	if got := w.do("GET", "/v2/droplets", ""); !strings.Contains(got.body, `"tags":[],"vpc_uuid"`) {
		t.Errorf("tags are shown: %s", got.body)
	}
	body := `{"name":"fw","tags":["web"],"inbound_rules":[{"protocol":"tcp","ports":"22","sources":{"addresses":["::/0"]}}]}`
	if got := w.do("POST", "/v2/firewalls", body); got.status != 403 {
		t.Errorf("without tag:read: %d %s", got.status, got.body)
	}
	if got := w.doAs("all", "POST", "/v2/firewalls", body); got.status != 202 {
		t.Errorf("with every scope: %d %s", got.status, got.body)
	}
}

func TestScopesOfAWrongFormPanic(t *testing.T) {
	for _, scope := range []string{"droplet", "a:b:c", "[:read"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was accepted", scope)
				}
			}()
			simulator.WithToken("t", "", scope)
		}()
	}
}
