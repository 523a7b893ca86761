package simulator

import (
	"strings"
)

func (k *lbCheck) global() error {
	if k.lb.Type != typeGlobal {
		if k.lb.GLBSettings != nil || len(k.lb.Domains) > 0 || len(k.lb.TargetLoadBalancerIDs) > 0 {
			return unprocessable("glb_settings, domains and target_load_balancer_ids require type GLOBAL")
		}
		return nil
	}
	g := k.lb.GLBSettings
	if g == nil {
		return unprocessable("glb_settings is required for a GLOBAL load balancer")
	}
	if g.TargetPort != 80 && g.TargetPort != 443 {
		return unprocessable("glb_settings target_port must be 80 or 443")
	}
	if g.FailoverThreshold != 0 {
		if err := within("glb_settings failover_threshold", g.FailoverThreshold, 1, 99); err != nil {
			return err
		}
	}
	for _, id := range k.lb.TargetLoadBalancerIDs {
		if target, ok := k.call.team.loadBalancers.get(id); !ok || target.Type != typeRegional {
			return unprocessable("target load balancer %s is not a REGIONAL load balancer", id)
		}
	}
	return oneOf("glb_settings target_protocol", strings.ToLower(g.TargetProtocol), "http", "https", "http2")
}

func (k *lbCheck) project() error {
	if _, ok := k.call.team.projects.get(k.lb.ProjectID); !ok {
		return unprocessable("project %s could not be found", k.lb.ProjectID)
	}
	return nil
}

func (k *lbCheck) tags() error {
	return validateTags(k.req.Tags)
}

func (k *lbCheck) networkType() error {
	if k.lb.Type != typeRegionalNetwork {
		return nil
	}
	if len(k.lb.ForwardingRules) > maxNetworkRules {
		return unprocessable("at most %d forwarding rules are allowed", maxNetworkRules)
	}
	for _, r := range k.lb.ForwardingRules {
		if r.EntryProtocol != "tcp" && r.EntryProtocol != "udp" {
			return unprocessable("a REGIONAL_NETWORK load balancer only supports tcp and udp")
		}
		if r.EntryPort != r.TargetPort {
			return unprocessable("entry_port and target_port must be equal for a REGIONAL_NETWORK load balancer")
		}
	}
	for _, option := range []struct {
		name string
		on   bool
	}{
		{"sticky_sessions", k.lb.StickySessions.Type != stickyNone},
		{"redirect_http_to_https", k.lb.RedirectHTTPToHTTPS},
		{"enable_proxy_protocol", k.lb.EnableProxyProtocol},
		{"enable_backend_keepalive", k.lb.EnableBackendKeepalive},
	} {
		if option.on {
			return unprocessable("%s is not available for a REGIONAL_NETWORK load balancer", option.name)
		}
	}
	return nil
}
