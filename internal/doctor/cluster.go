package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/internal/preview"
)

func labelSet(node *v1.Node) labels.Set { return node.Labels }

// checkManager tells whether a manager leads.
func checkManager(f *Facts) []Finding {
	if !f.read(readLease) {
		return nil
	}
	const cure = "Start the manager, and look at its log; a manager of another name or namespace has another lease."
	lease := f.Lease
	if lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return []Finding{{Severity: Error, Object: leaseName, Message: "No manager holds the lease: none runs, or none leads.", Cure: cure}}
	}
	if renewed, seconds := lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds; renewed != nil && seconds != nil {
		if ago := f.Now.Sub(renewed.Time); ago > time.Duration(*seconds)*time.Second {
			return []Finding{{Severity: Error, Object: leaseName, Message: fmt.Sprintf("%s holds the lease, and renewed it %s ago the last time: it is gone.", *lease.Spec.HolderIdentity, ago.Round(time.Second)), Cure: cure}}
		}
	}
	return nil
}

// otherControllers are parts of the images of what else gives Services of type
// LoadBalancer addresses.
var otherControllers = []string{"metallb", "kube-vip", "klipper-lb", "purelb", "openelb", "cloud-provider-kind", "hcloud-cloud-controller-manager", "aws-cloud-controller-manager"}

// manager is a part of the images of managers of DigitalOcean, and admission that
// of what only judges.
const (
	manager   = "digitalocean-cloud-controller-manager"
	admission = "admission-server"
)

// checkControllers finds what else works on the same Services.
func checkControllers(f *Facts) []Finding {
	var found, managers []Finding
	look := func(kind, namespace, name string, pod v1.PodSpec) {
		object := fmt.Sprintf("%s %s/%s", kind, namespace, name)
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			image := strings.ToLower(c.Image)
			if strings.Contains(image, manager) && !strings.Contains(image, admission) {
				managers = append(managers, Finding{
					Severity: Error, Object: object, Message: "Another manager of DigitalOcean runs here, with the image " + c.Image + ".",
					Cure: "Keep one of them: both would change the same load balancers. Replicas of one share a lease.",
				})
			}
			if slices.ContainsFunc(otherControllers, func(part string) bool { return strings.Contains(image, part) }) {
				found = append(found, Finding{
					Severity: Warning, Object: object, Message: "The image " + c.Image + " is of another controller that may give Services addresses.",
					Cure: "Have it work on a loadBalancerClass of its own, or remove it.",
				})
			}
		}
	}
	for _, d := range f.Deployments {
		look("Deployment", d.Namespace, d.Name, d.Spec.Template.Spec)
	}
	for _, d := range f.DaemonSets {
		look("DaemonSet", d.Namespace, d.Name, d.Spec.Template.Spec)
	}
	if len(managers) > 1 {
		found = append(managers, found...)
	}
	return append(found, strangeWriters(f.Services)...)
}

// strangeWriters finds who else writes the status of Services.
func strangeWriters(services []v1.Service) []Finding {
	var found []Finding
	for _, svc := range services {
		if svc.Spec.Type != v1.ServiceTypeLoadBalancer || svc.Spec.LoadBalancerClass != nil {
			continue
		}
		for _, m := range svc.ManagedFields {
			if m.Subresource == "status" && m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), "f:loadBalancer") && !strings.Contains(m.Manager, "cloud-controller-manager") {
				found = append(found, Finding{
					Severity: Warning, Object: "Service " + svc.Namespace + "/" + svc.Name, Message: fmt.Sprintf("%q wrote the addresses in its status.", m.Manager),
					Cure: "Find that controller; it or the manager must leave the Service alone (spec.loadBalancerClass).",
				})
			}
		}
	}
	return found
}

// checkServices tells of Services that the manager refuses.
func checkServices(f *Facts) []Finding {
	var found []Finding
	for _, e := range f.Entries {
		if e.Action != reconciler.ActionRefuse {
			continue
		}
		var texts []string
		for _, p := range e.Problems {
			texts = append(texts, p.String())
		}
		if e.Refusal != nil {
			texts = append(texts, e.Refusal.Error())
		}
		if len(texts) == 0 {
			texts = []string{"it asks for what can't be changed on its load balancer"}
		}
		found = append(found, Finding{
			Severity: Error, Object: "Service " + e.Service, Message: "The manager refuses it: " + strings.Join(texts, "; "),
			Cure: "Edit the Service; ccmctl plan " + e.Service + " tells what would be done then.",
		})
	}
	return found
}

// checkBackends finds load balancers with an address and nothing behind it.
func checkBackends(f *Facts) []Finding {
	var found []Finding
	for _, e := range f.Entries {
		lb := e.LoadBalancer
		if lb == nil || lb.IP == "" || len(lb.DropletIDs) > 0 {
			continue
		}
		why, cure := noteOf(e, events.NoEligibleBackends), admitCure(f.Nodes)
		if why == "" {
			why, cure = "No droplet is in it, though Nodes could be: no manager has put them in yet.", "Look whether the manager runs, and at the events of the Service."
		}
		found = append(found, Finding{Severity: Error, Object: "Service " + e.Service, Message: fmt.Sprintf("Load balancer %s has the address %s and no backends. %s", lb.Name, lb.IP, why), Cure: cure})
	}
	return found
}

// checkPods finds Services for which nobody answers behind the backends. They only
// warn: the load balancer is as it should be, and a workload may be scaled to zero.
func checkPods(f *Facts) []Finding {
	var found []Finding
	for _, svc := range f.Services {
		object := svc.Namespace + "/" + svc.Name
		n, known := f.Pods[object]
		if !known || n.Ready > 0 {
			continue
		}
		selector := labels.FormatLabels(svc.Spec.Selector)
		pods := "kubectl -n " + svc.Namespace + " get pods -l " + selector
		one := Finding{Severity: Warning, Object: "Service " + object}
		switch {
		case len(svc.Spec.Selector) == 0:
			one.Message = "It has no selector, and no EndpointSlice of it has an endpoint that is ready: nobody answers behind its load balancer."
			one.Cure = "Give it a selector, or EndpointSlices of its own with the label " + discoveryv1.LabelServiceName + "=" + svc.Name + "."
		case n.All == 0:
			one.Message = fmt.Sprintf("Its selector %s matches no Pod that runs: nobody answers behind its load balancer.", selector)
			one.Cure = "Compare the selector with the labels of the Pods, and look whether they are scaled to zero or not scheduled: " + pods
		default:
			one.Message = fmt.Sprintf("Its selector %s matches Pods, and none of them is ready: nobody answers behind its load balancer.", selector)
			one.Cure = "Look why the Pods aren't ready, mostly their readiness probe: " + pods
		}
		found = append(found, one)
	}
	return found
}

// admitCure is how Nodes become backends. Where some may already, the label isn't
// what keeps those out, and is not to be taken away from a control plane's, to which
// kubeadm gives it.
func admitCure(nodes []v1.Node) string {
	mayServe := func(node v1.Node) bool { _, excluded := node.Labels[v1.LabelNodeExcludeBalancers]; return !excluded }
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, mayServe) {
		return "Take the label away from Nodes that are to serve: kubectl label node " + nodes[0].Name + " " + v1.LabelNodeExcludeBalancers + "-"
	}
	return "Mend what keeps the Nodes out; the other findings here tell more of them."
}

func noteOf(e preview.Entry, reason events.Reason) string {
	for _, n := range e.Notes {
		if n.Reason == string(reason) {
			return n.Message
		}
	}
	return ""
}

// mostSeconds is the longest that an API request should wait for the webhook.
const mostSeconds = 5

// checkWebhook looks at the admission webhook, where there is one.
func checkWebhook(f *Facts) []Finding {
	var found []Finding
	for _, c := range f.Webhooks {
		for _, w := range c.Webhooks {
			if isManagers(c.Name, w) {
				found = append(found, judgeWebhook("webhook "+c.Name, w, f.Ready)...)
			}
		}
	}
	return found
}

func isManagers(configuration string, w admissionv1.ValidatingWebhook) bool {
	return strings.Contains(configuration, manager) || strings.Contains(w.Name, manager)
}

func judgeWebhook(object string, w admissionv1.ValidatingWebhook, ready map[string]int) []Finding {
	var found []Finding
	add := func(severity Severity, message, cure string) {
		found = append(found, Finding{Severity: severity, Object: object, Message: message, Cure: cure})
	}
	severity := Warning
	if w.FailurePolicy == nil || *w.FailurePolicy == admissionv1.Fail {
		severity = Error // what is wrong with it blocks Services
		add(Warning, "Its failurePolicy is Fail: while its server is away no Service of type LoadBalancer can be made or changed.", "Set failurePolicy: Ignore, as the shipped manifest has it.")
	}
	if w.TimeoutSeconds != nil && *w.TimeoutSeconds > mostSeconds {
		add(Warning, fmt.Sprintf("Its timeout of %d s holds requests up for as long.", *w.TimeoutSeconds), fmt.Sprintf("Set timeoutSeconds to at most %d.", mostSeconds))
	}
	if len(w.ClientConfig.CABundle) == 0 {
		add(severity, "It has no caBundle, so the API server trusts no answer.", "Look at the server's log: it writes the bundle, unless its certificates come from files.")
	}
	if ref := w.ClientConfig.Service; ref != nil {
		name := cmp.Or(ref.Namespace, v1.NamespaceDefault) + "/" + ref.Name
		n, exists := ready[name]
		switch {
		case !exists:
			add(severity, "Its Service "+name+" does not exist.", "Apply the server's manifests, or delete the webhook's configuration.")
		case n == 0:
			add(severity, "Its Service "+name+" has no endpoint that is ready: nobody answers.", "Look at the server's Pods.")
		}
	}
	return found
}
