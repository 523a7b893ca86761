package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// object is a body in the making.
type object map[string]any

func (o object) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings, numbers and lists only
	}
	return string(text)
}

// maybe sets a member in some cases.
func (w *walk) maybe(o object, name string, value any) {
	if w.chance(35) {
		o[name] = value
	}
}

// body is a body for an operation, "" for those that have none.
func (w *walk) body(operation string) string {
	if make, ok := bodies[operation]; ok {
		return make(w).String()
	}
	return ""
}

var bodies = map[string]func(*walk) object{
	"POST /v2/droplets":                             (*walk).dropletBody,
	"POST /v2/droplets/actions":                     (*walk).actionBody,
	"POST /v2/droplets/{id}/actions":                (*walk).actionBody,
	"POST /v2/load_balancers":                       (*walk).balancerBody,
	"PUT /v2/load_balancers/{id}":                   (*walk).balancerBody,
	"POST /v2/load_balancers/{id}/droplets":         (*walk).membersBody,
	"DELETE /v2/load_balancers/{id}/droplets":       (*walk).membersBody,
	"POST /v2/load_balancers/{id}/forwarding_rules": (*walk).rulesBody,
	"DELETE /v2/load_balancers/{id}/forwarding_rules": func(w *walk) object {
		for _, lb := range w.sim.LoadBalancers() {
			if len(lb.ForwardingRules) > 1 && w.chance(40) {
				return object{"forwarding_rules": lb.ForwardingRules[1:2]}
			}
		}
		return w.rulesBody()
	},
	"POST /v2/firewalls":                 (*walk).firewallBody,
	"PUT /v2/firewalls/{id}":             (*walk).firewallBody,
	"POST /v2/firewalls/{id}/droplets":   (*walk).membersBody,
	"DELETE /v2/firewalls/{id}/droplets": (*walk).membersBody,
	"POST /v2/firewalls/{id}/tags":       func(w *walk) object { return object{"tags": []string{w.id("tags", nil)}} },
	"DELETE /v2/firewalls/{id}/tags":     func(w *walk) object { return object{"tags": []string{w.id("tags", nil)}} },
	"POST /v2/firewalls/{id}/rules":      (*walk).firewallRules,
	"DELETE /v2/firewalls/{id}/rules": func(w *walk) object {
		for _, f := range w.sim.Firewalls() {
			if len(f.InboundRules) > 0 && w.chance(40) {
				return object{"inbound_rules": f.InboundRules[:1]}
			}
		}
		return w.firewallRules()
	},
	"POST /v2/tags":                        func(w *walk) object { return object{"name": w.one("web", "rare", w.newName(), "k8s:abc", "bad.tag")} },
	"POST /v2/tags/{tag}/resources":        (*walk).resourcesBody,
	"DELETE /v2/tags/{tag}/resources":      (*walk).resourcesBody,
	"POST /v2/certificates":                (*walk).certificateBody,
	"POST /v2/vpcs":                        (*walk).vpcBody,
	"PUT /v2/vpcs/{id}":                    func(w *walk) object { return object{"name": w.newName(), "description": "d", "default": true} },
	"PATCH /v2/vpcs/{id}":                  func(w *walk) object { return object{"description": w.newName()} },
	"POST /v2/vpcs/{id}/subnets":           func(w *walk) object { return object{"name": w.newName()} },
	"PATCH /v2/vpcs/{id}/subnets/{subnet}": func(w *walk) object { return object{"name": w.newName()} },
	"POST /v2/projects":                    (*walk).projectBody,
	"PUT /v2/projects/{id}": func(w *walk) object {
		return object{"name": w.newName(), "description": "", "purpose": "IoT", "environment": "Staging", "is_default": w.chance(50)}
	},
	"PATCH /v2/projects/{id}": func(w *walk) object { return object{"purpose": w.one("mine", "IoT"), "environment": "Production"} },
	"POST /v2/projects/{id}/resources": func(w *walk) object {
		return object{"resources": []string{"do:droplet:" + w.dropletID(), "do:loadbalancer:" + w.id("load_balancers", nil), "do:volume:" + w.id("volumes", nil)}}
	},
	"POST /v2/reserved_ips":               (*walk).reservedBody,
	"POST /v2/floating_ips":               (*walk).reservedBody,
	"POST /v2/reserved_ipv6":              func(w *walk) object { return object{"region_slug": w.one("nyc3", "nowhere")} },
	"POST /v2/reserved_ips/{ip}/actions":  (*walk).assignBody,
	"POST /v2/floating_ips/{ip}/actions":  (*walk).assignBody,
	"POST /v2/reserved_ipv6/{ip}/actions": (*walk).assignBody,
	"POST /v2/account/keys":               (*walk).keyBody,
	"PUT /v2/account/keys/{key}":          func(w *walk) object { return object{"name": w.newName()} },
	"POST /v2/volumes":                    (*walk).volumeBody,
	"POST /v2/volumes/{volume}/actions":   (*walk).volumeActionBody,
	"POST /v2/volumes/{volume}/snapshots": func(w *walk) object { return object{"name": w.newName(), "tags": []string{"snap"}} },
}

func (w *walk) number(of ...int) int { return of[w.random.IntN(len(of))] }

func (w *walk) dropletBody() object {
	o := object{
		"region": w.one("nyc3", "nyc3", "nyc", "fra1", "moon1"), "size": w.one("s-2vcpu-4gb", "s-1vcpu-1gb", "huge"),
		"image": "ubuntu-24-04-x64",
	}
	if w.chance(70) {
		o["name"] = w.newName()
	} else {
		o["names"] = []string{w.newName(), w.newName()}
	}
	w.maybe(o, "tags", []string{w.one("web", "rare", "new")})
	w.maybe(o, "ipv6", true)
	w.maybe(o, "monitoring", true)
	w.maybe(o, "backups", true)
	w.maybe(o, "ssh_keys", []any{w.id("keys", nil)})
	w.maybe(o, "vpc_uuid", w.id("vpcs", nil))
	w.maybe(o, "volumes", []any{object{"id": w.id("volumes", nil)}})
	w.maybe(o, "user_data", "#cloud-config")
	if w.chance(20) {
		o["image"] = 150_000_001
	}
	if w.chance(10) {
		o["public_networking"] = false
	}
	return o
}

func (w *walk) actionBody() object {
	kind := w.one("power_off", "power_off", "power_on", "reboot", "power_cycle", "shutdown", "rename", "resize", "rebuild", "enable_ipv6",
		"enable_backups", "disable_backups", "change_backup_policy", "password_reset", "snapshot")
	o := object{"type": kind}
	switch kind {
	case "rename":
		o["name"] = w.newName()
	case "resize":
		o["size"], o["disk"] = w.one("s-4vcpu-8gb", "s-1vcpu-1gb"), w.chance(50)
	case "rebuild":
		o["image"] = "debian-13-x64"
	case "change_backup_policy":
		o["backup_policy"] = object{"plan": "weekly", "weekday": "SUN", "hour": 8}
	}
	return o
}

func (w *walk) rule() object {
	o := object{
		"entry_protocol": "tcp", "entry_port": w.number(80, 81, 82, 83, 84, 85, 86, 8080, 50053), "target_protocol": "tcp", "target_port": w.number(80, 8080),
	}
	switch w.random.IntN(4) {
	case 0:
		o["entry_protocol"], o["target_protocol"] = "http", "http"
	case 1:
		o["entry_protocol"], o["target_protocol"], o["entry_port"] = "https", "http", 443
		o["certificate_id"] = w.id("certificates", nil)
	}
	return o
}

func (w *walk) rulesBody() object { return object{"forwarding_rules": []object{w.rule()}} }

func (w *walk) balancerBody() object {
	o := object{"name": w.one(w.newName(), w.newName(), "n1", "n2"), "region": w.one("nyc3", "nyc3", "nyc3", "nyc3", "nyc3", "fra1"), "forwarding_rules": []object{w.rule()}}
	if w.chance(25) {
		o["forwarding_rules"] = []object{w.rule(), w.rule()}
	}
	w.maybe(o, "size_unit", w.number(1, 2, 3, 4, 5, 6, 200, 201))
	w.maybe(o, "health_check", object{"protocol": w.one("tcp", "http"), "port": w.number(80, 10256), "check_interval_seconds": w.number(3, 10, 20, 300, 2)})
	w.maybe(o, "sticky_sessions", object{"type": "cookies", "cookie_name": "lb", "cookie_ttl_seconds": 300})
	w.maybe(o, "firewall", object{"allow": []string{"cidr:192.0.2.0/24"}, "deny": []string{"ip:198.51.100.7"}})
	w.maybe(o, "tags", []string{"own"})
	w.maybe(o, "enable_proxy_protocol", true)
	w.maybe(o, "http_idle_timeout_seconds", w.number(30, 90, 600, 601))
	w.maybe(o, "project_id", w.id("projects", []string{}))
	w.maybe(o, "tls_cipher_policy", "STRONG")
	switch w.random.IntN(8) {
	case 0:
		o["network"] = "INTERNAL"
	case 1:
		o["network_stack"] = "DUALSTACK"
	case 2:
		o["type"] = "REGIONAL_NETWORK"
	case 3:
		o["validate_only"] = true
	case 4:
		return w.globalBody()
	}
	if w.chance(30) {
		o["tag"] = "web"
	} else if id, err := strconv.Atoi(w.dropletID()); err == nil && w.chance(50) {
		o["droplet_ids"] = []int{id}
	}
	return o
}

func (w *walk) globalBody() object {
	return object{
		"name": w.newName(), "type": "GLOBAL", "target_load_balancer_ids": []string{w.id("load_balancers", nil)},
		"glb_settings": object{"target_protocol": "http", "target_port": 80, "cdn": object{"is_enabled": w.chance(80)}},
		"domains":      []object{{"name": "example.com", "is_managed": false}},
	}
}

func (w *walk) membersBody() object {
	id, err := strconv.Atoi(w.dropletID())
	if err != nil {
		id = 1
	}
	return object{"droplet_ids": []int{id}}
}

func (w *walk) firewallRule(direction string) object {
	o := object{"protocol": w.one("tcp", "udp"), "ports": w.one("22", "8000-9000", "all", "0", "99999")}
	if w.chance(20) {
		o = object{"protocol": "icmp"}
	}
	target := object{"addresses": []string{"0.0.0.0/0", fmt.Sprintf("198.51.%d.0/24", w.random.IntN(200))}}
	w.maybe(target, "load_balancer_uids", []string{w.id("load_balancers", nil)})
	w.maybe(target, "tags", []string{"web"})
	o[direction] = target
	return o
}

func (w *walk) firewallRules() object {
	return object{"inbound_rules": []object{w.firewallRule("sources")}, "outbound_rules": []object{w.firewallRule("destinations")}}
}

func (w *walk) firewallBody() object {
	o := w.firewallRules()
	o["name"] = w.one(w.newName(), w.newName(), "n1")
	w.maybe(o, "tags", []string{"web"})
	w.maybe(o, "droplet_ids", w.membersBody()["droplet_ids"])
	if w.chance(10) {
		o["tags"] = nil
	}
	return o
}

func (w *walk) resourcesBody() object {
	kind := w.one("droplet", "load_balancer", "volume", "volume_snapshot")
	segment := map[string]string{"droplet": "droplets", "load_balancer": "load_balancers", "volume": "volumes", "volume_snapshot": "snapshots"}[kind]
	return object{"resources": []object{{"resource_id": w.id(segment, nil), "resource_type": kind}}}
}
