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
		PerPort:    true,
		Kind:       KindUUID,
		Types:      regionalOnly,
		Written:    true,
		Hint:       "a certificate's name goes into the annotation " + CertificateName,
		Doc:        "The id of the certificate with which the load balancer ends TLS; the backends then get HTTP, unless `" + BackendProtocol + "` says otherwise. A port that has a certificate of its own speaks HTTPS where no other annotation says what it speaks. When Let's Encrypt renews the certificate its id changes, and the manager writes the new one here.",
	},
	{
		Key:     CertificateName,
		PerPort: true,
		Kind:    KindText,
		Min:     1,
		Max:     maxCertificateName,
		Types:   regionalOnly,
		Doc:     "The same by the certificate's name, which a renewal doesn't change: the way for manifests kept in a repository. Where both are set, the id wins.",
	},
	{
		Key:     BackendProtocol,
		PerPort: true,
		Kind:    KindEnum,
		Values:  []string{ProtocolHTTP, ProtocolHTTPS, ProtocolHTTP2},
		Default: ProtocolHTTP,
		Types:   regionalOnly,
		Doc:     "What backends speak behind ports whose TLS ends at the load balancer. With `https` and `http2` it begins TLS anew, and takes any certificate of the backends, also one that they signed themselves. Not together with `" + TLSPassthrough + "`, which hands them the client's TLS.",
	},
	{
		Key:     UseAppProtocol,
		Kind:    KindBool,
		Default: "false",
		Types:   regionalOnly,
		Doc: "With `true` each TCP port speaks what its `spec.ports[].appProtocol` says, where it is one of " + quoteAll(listAppProtocols()) + " in upper or lower case. `kubernetes.io/h2c` is forwarded as TCP, since the load balancer speaks HTTP/2 over TLS only. " +
			"`" + HTTPPorts + "`, `" + TLSPorts + "` and `" + HTTP2Ports + "` win over it; it wins over `" + Protocol + "`, and over the HTTPS of port 443. What backends get is `" + BackendProtocol + "`'s matter. Without it appProtocol has no effect, as many Services have one for a service mesh.",
	},
	{
		Key:        TLSCipherPolicy,
		Kind:       KindEnum,
		Values:     []string{CiphersDefault, CiphersStrong},
		DefaultDoc: "what the load balancer has: `DEFAULT` on a new one",
		Types:      regionalOnly,
		Doc:        "The ciphers with which the load balancer ends TLS. `STRONG` leaves the weaker ones out. Where the annotation is removed, or a class or default that said the same, `DEFAULT` comes back, also if that happened while no manager ran; where nothing ever asked for `STRONG`, what is set in the console stays.",
	},
	{
		Key:     DisableLetsEncryptDNSRecords,
		Kind:    KindBool,
		Default: "false",
		Types:   regionalOnly,
		Doc:     "With `true` DigitalOcean makes no DNS records for the domains of a Let's Encrypt certificate.",
	},
}
