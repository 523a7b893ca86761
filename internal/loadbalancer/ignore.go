package loadbalancer

// fieldsOf are the fields of changes, by the names that annotation.DriftFields
// has for them.
var fieldsOf = map[string]string{
	"name":                             FieldName,
	"size-unit":                        FieldSize,
	"forwarding-rules":                 FieldForwardingRules,
	"health-check":                     FieldHealthCheck,
	"sticky-sessions":                  FieldStickySessions,
	"redirect-http-to-https":           FieldRedirect,
	"enable-proxy-protocol":            FieldProxyProtocol,
	"enable-backend-keepalive":         FieldBackendKeepalive,
	"disable-lets-encrypt-dns-records": FieldDisableDNSRecords,
	"http-idle-timeout-seconds":        FieldHTTPIdleTimeout,
	"tls-cipher-policy":                FieldTLSCipherPolicy,
	"allow-rules":                      FieldAllowedSources,
	"deny-rules":                       FieldDeniedSources,
}

// Ignore returns desired with the fields of these names, of
// annotation.DriftFields, taken from actual.
func Ignore(desired, actual Settings, names []string) Settings {
	for _, name := range names {
		desired = Without(desired, actual, fieldsOf[name])
	}
	return desired
}

// Leave returns desired without these changes: their fields are as they are in
// actual.
func Leave(desired, actual Settings, changes []Change) Settings {
	for _, c := range changes {
		desired = Without(desired, actual, c.Field)
	}
	return desired
}
