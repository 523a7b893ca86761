package annotation

// maxCertificateName keeps what can't be a name out of requests; DigitalOcean
// publishes no bound.
const maxCertificateName = 255

var protocolAnnotations = []Definition{
	{
		Key:     Protocol,
		Kind:    KindEnum,
		Values:  []string{ProtocolTCP, ProtocolHTTP, ProtocolHTTPS, ProtocolHTTP2, ProtocolHTTP3},
		Default: ProtocolTCP,
		Types:   regionalOnly,
		Hint:    "UDP is chosen by spec.ports[].protocol",
		Doc:     "The protocol of every TCP port that no other annotation names. `https`, `http2` and `http3` need a certificate; `https` and `http2` can do with `" + TLSPassthrough + "` instead. A UDP port of the Service is forwarded as UDP without any annotation.",
	},
	{
		Key:   HTTPPorts,
		Kind:  KindPorts,
		Types: regionalOnly,
		Doc:   "The Service's ports that speak HTTP.",
	},
	{
		Key:        TLSPorts,
		Kind:       KindPorts,
		DefaultDoc: "`443` with a certificate or `" + TLSPassthrough + "`, unless `" + HTTP2Ports + "` has it",
		Types:      regionalOnly,
		Doc:        "The Service's ports that speak HTTPS. Needs a certificate or `" + TLSPassthrough + "`.",
	},
	{
		Key:   HTTP2Ports,
		Kind:  KindPorts,
		Types: regionalOnly,
		Doc:   "The Service's ports that speak HTTP/2 over TLS. Needs a certificate or `" + TLSPassthrough + "`.",
	},
	{
		Key:   HTTP3Port,
		Kind:  KindInt,
		Min:   minPort,
		Max:   maxPort,
		Types: regionalOnly,
		Doc:   "The Service's port that speaks HTTP/3 as well. Clients find it by way of HTTPS or HTTP/2 at the same port, so `" + TLSPorts + "` or `" + HTTP2Ports + "` must have it too. Needs a certificate; not with `" + TLSPassthrough + "`.",
	},
	{
		Key:     TLSPassthrough,
		Kind:    KindBool,
		Default: "false",
		Types:   regionalOnly,
		Doc:     "With `true` TLS is handed to the backends, which have the certificate. Not together with a certificate here.",
	},
	{
		Key:        CertificateID,
		PerService: true,
		Kind:       KindUUID,
		Types:      regionalOnly,
		Written:    true,
		Hint:       "a certificate's name goes into the annotation " + CertificateName,
		Doc:        "The id of the certificate with which the load balancer ends TLS; the backends then get HTTP. When Let's Encrypt renews the certificate its id changes, and the manager writes the new one here.",
	},
	{
		Key:   CertificateName,
		Kind:  KindText,
		Min:   1,
		Max:   maxCertificateName,
		Types: regionalOnly,
		Doc:   "The same by the certificate's name, which a renewal doesn't change: the way for manifests kept in a repository. Where both are set, the id wins.",
	},
	{
		Key:        TLSCipherPolicy,
		Kind:       KindEnum,
		Values:     []string{CiphersDefault, CiphersStrong},
		DefaultDoc: "what the load balancer has: `DEFAULT` on a new one",
		Types:      regionalOnly,
		Doc:        "The ciphers with which the load balancer ends TLS. `STRONG` leaves the weaker ones out. Removing the annotation brings `DEFAULT` back; where it never was, what is set in the console stays.",
	},
	{
		Key:     DisableLetsEncryptDNSRecords,
		Kind:    KindBool,
		Default: "false",
		Types:   regionalOnly,
		Doc:     "With `true` DigitalOcean makes no DNS records for the domains of a Let's Encrypt certificate.",
	},
}
