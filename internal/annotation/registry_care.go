package annotation

import (
	"slices"
	"strings"
)

// Policies for what somebody else changes on a load balancer.
const (
	DriftRevert = "revert"
	DriftReport = "report"
	driftIgnore = "ignore:"
)

// DriftFields are the parts of a load balancer that [Drift] can leave to others.
var DriftFields = []string{
	"name", "size-unit", "forwarding-rules", "health-check", "sticky-sessions", "redirect-http-to-https",
	"enable-proxy-protocol", "enable-backend-keepalive", "disable-lets-encrypt-dns-records", "http-idle-timeout-seconds",
	"allow-rules", "deny-rules", "tls-cipher-policy",
}

var careAnnotations = []Definition{
	{
		Key:     Drift,
		Kind:    KindDrift,
		Default: DriftRevert,
		Doc: "What becomes of settings that somebody else changes, in the console or by another tool. `revert` puts them back. " +
			"`report` leaves them, and tells of them in the event LoadBalancerDrift: only what is edited at the Service while the manager runs is written, " +
			"and differences that it finds at its start, or on a load balancer that it takes over, are left as well. " +
			"`ignore:` and a list, such as `ignore:size-unit,forwarding-rules`, leaves these fields to others for good, once the load balancer exists, and reverts the rest. The fields are " +
			quoteAll(DriftFields) + ". The backends are the manager's in any case.",
	},
	{
		Key:        DryRun,
		PerService: true,
		Kind:       KindBool,
		Default:    "false",
		FailSafe:   true,
		Doc: "With `true` nothing is written for this Service: neither to DigitalOcean nor to its status. What would be done goes into the annotation `" + Plan +
			"` and the event LoadBalancerPlan. A value that is not a boolean counts as `true`. Deleting the Service still deletes the load balancer that it had before.",
	},
	{
		Key:        Plan,
		PerService: true,
		Kind:       KindAny,
		Written:    true,
		Doc:        "What the manager would do, where `" + DryRun + "` keeps it from it. It is removed with that. Writing it yourself has no effect.",
	},
	{
		Key:        Manage,
		PerService: true,
		Kind:       KindEnum,
		Values:     []string{ManageAll, ManageBackends},
		Default:    ManageAll,
		FailSafe:   true,
		Safe:       ManageBackends,
		Doc: "With `backends` the load balancer that `" + LoadBalancerID + "` names is made and set up by somebody else, such as Terraform: the manager only puts the cluster's droplets in, and takes out its own. " +
			"It neither makes nor deletes one; deleting the Service takes the cluster's droplets out. The rules must send to the Service's node ports, or with the type `REGIONAL_NETWORK` to its ports. A value that can't be used counts as `backends`. Without the annotation the load balancer is the Service's: after a drift period it gets its settings, and it is deleted with it.",
	},
	{
		Key:      RetainOnDelete,
		Kind:     KindBool,
		Default:  "false",
		FailSafe: true,
		Doc: "With `true` the load balancer stays, with its address and rules, when the Service is deleted or gets another type: its droplets are taken out, since the Service's node ports may soon be another's. " +
			"The event LoadBalancerRetained tells its id, with which another Service can take it over by `" + LoadBalancerID + "`. It costs money until it is deleted by hand. A value that is not a boolean counts as `true`, and so does none while `" + Class + "` names a class that isn't there, which might have said so.",
	},
}

func quoteAll(values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = quote(value)
	}
	return strings.Join(quoted, ", ")
}

// parseDrift reads a policy for drift: the fields to ignore, and whether it is
// one at all.
func parseDrift(value string) (ignored []string, ok bool) {
	list, isList := strings.CutPrefix(value, driftIgnore)
	if !isList {
		return nil, value == DriftRevert || value == DriftReport
	}
	for field := range entries(list) {
		if !slices.Contains(DriftFields, field) {
			return nil, false
		}
		ignored = append(ignored, field)
	}
	return set(ignored), len(ignored) > 0
}
