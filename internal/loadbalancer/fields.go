package loadbalancer

// Names of the fields that changes are of, as people read them.
const (
	FieldType         = "type"
	FieldNetwork      = "network"
	FieldNetworkStack = "network stack"
	FieldRegion       = "region"
	FieldVPC          = "VPC"
	FieldSubnet       = "subnet"
	FieldIP           = "IP"

	FieldName              = "name"
	FieldSize              = "size unit"
	FieldForwardingRules   = "forwarding rules"
	FieldHealthCheck       = "health check"
	FieldStickySessions    = "sticky sessions"
	FieldRedirect          = "redirect HTTP to HTTPS"
	FieldProxyProtocol     = "PROXY protocol"
	FieldBackendKeepalive  = "backend keepalive"
	FieldDisableDNSRecords = "disable Let's Encrypt DNS records"
	FieldHTTPIdleTimeout   = "HTTP idle timeout"
	FieldTLSCipherPolicy   = "TLS cipher policy"
	FieldAllowedSources    = "allowed sources"
	FieldDeniedSources     = "denied sources"
	FieldTag               = "backends' tag"
	FieldDroplets          = "droplets"
)

// Without returns desired with the field's value taken from actual, so that the
// field is no difference any more. An unknown field changes nothing.
func Without(desired, actual Settings, field string) Settings {
	take, ok := takers[field]
	if ok {
		take(&desired, &actual)
	}
	return desired
}

// takers copy the value of a field.
var takers = map[string]func(to, from *Settings){
	FieldType:         func(to, from *Settings) { to.Type = from.Type },
	FieldNetwork:      func(to, from *Settings) { to.Network = from.Network },
	FieldNetworkStack: func(to, from *Settings) { to.NetworkStack = from.NetworkStack },
	FieldRegion:       func(to, from *Settings) { to.Region = from.Region },
	FieldVPC:          func(to, from *Settings) { to.VPC = from.VPC },
	FieldSubnet:       func(to, from *Settings) { to.SubnetUUID = from.SubnetUUID },
	FieldIP:           func(to, from *Settings) { to.IP = from.IP },

	FieldName:             func(to, from *Settings) { to.Name = from.Name },
	FieldSize:             func(to, from *Settings) { to.SizeUnit, to.SizeSlug = from.SizeUnit, from.SizeSlug },
	FieldForwardingRules:  func(to, from *Settings) { to.ForwardingRules = from.ForwardingRules },
	FieldHealthCheck:      func(to, from *Settings) { to.HealthCheck = from.HealthCheck },
	FieldStickySessions:   func(to, from *Settings) { to.StickySessions = from.StickySessions },
	FieldRedirect:         func(to, from *Settings) { to.RedirectHTTPToHTTPS = from.RedirectHTTPToHTTPS },
	FieldProxyProtocol:    func(to, from *Settings) { to.EnableProxyProtocol = from.EnableProxyProtocol },
	FieldBackendKeepalive: func(to, from *Settings) { to.EnableBackendKeepalive = from.EnableBackendKeepalive },
	FieldDisableDNSRecords: func(to, from *Settings) {
		to.DisableLetsEncryptDNSRecords = from.DisableLetsEncryptDNSRecords
	},
	FieldHTTPIdleTimeout: func(to, from *Settings) { to.HTTPIdleTimeoutSeconds = from.HTTPIdleTimeoutSeconds },
	FieldTLSCipherPolicy: func(to, from *Settings) { to.TLSCipherPolicy = from.TLSCipherPolicy },
	FieldAllowedSources:  func(to, from *Settings) { to.AllowRules = from.AllowRules },
	FieldDeniedSources:   func(to, from *Settings) { to.DenyRules = from.DenyRules },
	FieldTag:             func(to, from *Settings) { to.Tag = from.Tag },
	FieldDroplets:        func(to, from *Settings) { to.DropletIDs = from.DropletIDs },
}
