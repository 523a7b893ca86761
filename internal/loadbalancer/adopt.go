package loadbalancer

import (
	"fmt"
	"slices"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// CheckTakeOver finds what keeps a load balancer of somebody else's from serving
// the cluster.
func CheckTakeOver(id string, actual Settings, cluster Cluster) []annotation.Problem {
	if cluster.VPC == "" || actual.VPC == "" || cluster.VPC == actual.VPC {
		return nil
	}
	return []annotation.Problem{{Field: annotation.LoadBalancerID, Value: id, Allowed: fmt.Sprintf(
		"must be of a load balancer in the cluster's VPC %s, and this one is in VPC %s, from which the cluster's droplets can't be reached; nothing of it is changed", cluster.VPC, actual.VPC)}}
}

// healthCheckOverrides have an effect only where the override is present.
var healthCheckOverrides = []string{annotation.HealthCheckPath, annotation.HealthCheckPort, annotation.HealthCheckProtocol}

// Effective drops the problems of annotations that have no effect: a load
// balancer is made in spite of them, as it always was, and a warning tells of
// them.
func Effective(spec annotation.Spec, problems []annotation.Problem) []annotation.Problem {
	if spec.HealthCheck.Override {
		return problems
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p annotation.Problem) bool { return slices.Contains(healthCheckOverrides, p.Field) })
}

// Between splits changes into those that were asked for since the settings were
// agreed on, and those that somebody else's hand made necessary.
func Between(agreed, desired Settings, changes []Change) (asked, foreign []Change) {
	fields := map[string]bool{}
	for _, c := range Diff(desired, agreed) {
		fields[c.Field] = true
	}
	for _, c := range changes {
		if fields[c.Field] {
			asked = append(asked, c)
		} else {
			foreign = append(foreign, c)
		}
	}
	return asked, foreign
}

// annotationsOf are the annotations that decide about a field, for people.
var annotationsOf = map[string]string{
	FieldName:              annotation.Name,
	FieldSize:              annotation.SizeUnit,
	FieldForwardingRules:   "spec.ports and " + annotation.Protocol + " and its kin",
	FieldHealthCheck:       annotation.OverrideHealthCheck + " and its kin",
	FieldStickySessions:    annotation.StickySessionsType,
	FieldRedirect:          annotation.RedirectHTTPToHTTPS,
	FieldProxyProtocol:     annotation.EnableProxyProtocol,
	FieldBackendKeepalive:  annotation.EnableBackendKeepalive,
	FieldDisableDNSRecords: annotation.DisableLetsEncryptDNSRecords,
	FieldHTTPIdleTimeout:   annotation.HTTPIdleTimeoutSeconds,
	FieldTLSCipherPolicy:   annotation.TLSCipherPolicy,
	FieldAllowedSources:    "spec.loadBalancerSourceRanges or " + annotation.AllowRules,
	FieldDeniedSources:     annotation.DenyRules,
}

// Deciders names what in the Service decides about the changed fields.
func Deciders(changes []Change) []string {
	var deciders []string
	for _, c := range changes {
		if d := annotationsOf[c.Field]; d != "" {
			deciders = append(deciders, d)
		}
	}
	return deciders
}
