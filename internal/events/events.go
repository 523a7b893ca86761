// Package events tells people what happens to their Nodes and Services, as
// Kubernetes events. Every reason that the manager uses is declared here with
// its meaning; the framework's own (EnsuredLoadBalancer, …) are not.
package events

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

// Component is the source of the manager's events.
const Component = "digitalocean-cloud-controller-manager"

// Reason is an event's reason.
type Reason string

// Reasons of events on Nodes.
const (
	DropletNotFound       Reason = "DropletNotFound"
	NodeWithoutDroplet    Reason = "NodeWithoutDroplet"
	DropletAmbiguous      Reason = "DropletAmbiguous"
	DropletWithoutAddress Reason = "DropletWithoutAddress"
	NodeWithoutInternalIP Reason = "NodeWithoutInternalIP"
	NodeAddressMismatch   Reason = "NodeAddressMismatch"
	ForeignProviderID     Reason = "ForeignProviderID"
	NodeNeverInitialized  Reason = "NodeNeverInitialized"
	NodeDeletionBlocked   Reason = "NodeDeletionBlocked"
	NodeNotRemoved        Reason = "NodeNotRemoved"
	DropletGone           Reason = "DropletGone"
	DropletReplaced       Reason = "DropletReplaced"
)

// Reasons of events on Services.
const (
	LoadBalancerConfigError   Reason = "LoadBalancerConfigError"
	AnnotationWarning         Reason = "AnnotationWarning"
	LoadBalancerCreated       Reason = "LoadBalancerCreated"
	LoadBalancerUpdated       Reason = "LoadBalancerUpdated"
	LoadBalancerAdopted       Reason = "LoadBalancerAdopted"
	LoadBalancerFirstContact  Reason = "LoadBalancerFirstContact"
	LoadBalancerDrift         Reason = "LoadBalancerDrift"
	LoadBalancerContested     Reason = "LoadBalancerContested"
	LoadBalancerPlan          Reason = "LoadBalancerPlan"
	LoadBalancerRetained      Reason = "LoadBalancerRetained"
	StatusOverwritten         Reason = "StatusOverwritten"
	LoadBalancerNotFound      Reason = "LoadBalancerNotFound"
	LoadBalancerNotOwned      Reason = "LoadBalancerNotOwned"
	LoadBalancerNameTaken     Reason = "LoadBalancerNameTaken"
	LoadBalancerErrored       Reason = "LoadBalancerErrored"
	LoadBalancerImmutable     Reason = "LoadBalancerImmutable"
	LoadBalancerDisowned      Reason = "LoadBalancerDisowned"
	LoadBalancerRequestFailed Reason = "LoadBalancerRequestFailed"
	LoadBalancerResizeRefused Reason = "LoadBalancerResizeRefused"
	CertificateRenewed        Reason = "CertificateRenewed"
	NoEligibleBackends        Reason = "NoEligibleBackends"
	BackendsLeftOut           Reason = "BackendsLeftOut"
	InternalError             Reason = "InternalError"
	TargetTagFailed           Reason = "TargetTagFailed"
	FirewallConfigError       Reason = "FirewallConfigError"
	FirewallLimit             Reason = "FirewallLimit"
	FirewallRequestFailed     Reason = "FirewallRequestFailed"
)

// Reasons of events on the manager's lease.
const (
	LoadBalancersOrphaned Reason = "LoadBalancersOrphaned"
	AnotherManager        Reason = "AnotherManager"

	TokenRefused      Reason = "TokenRefused"
	FirewallCreated   Reason = "FirewallCreated"
	FirewallUpdated   Reason = "FirewallUpdated"
	FirewallTakenOver Reason = "FirewallTakenOver"
	FirewallRestored  Reason = "FirewallRestored"
	FirewallContested Reason = "FirewallContested"
)

// Doc explains a reason in the documentation.
type Doc struct {
	Reason  Reason
	Object  string
	Type    string
	Meaning string
}

// Docs documents every reason, in the order of the documentation.
var Docs = []Doc{
	{DropletNotFound, "Node", v1.EventTypeWarning, "No droplet has the Node's name or one of its addresses. The message lists what was compared. The look-up goes on."},
	{NodeWithoutDroplet, "Node", v1.EventTypeWarning, "The same for more than ten minutes. The Node is never removed for that: remove it with `kubectl delete node` if its machine is gone."},
	{DropletAmbiguous, "Node", v1.EventTypeWarning, "Several droplets have the Node's name, and its addresses don't tell which one it is. The message lists their ids."},
	{DropletWithoutAddress, "Node", v1.EventTypeWarning, "The droplet has had no address for more than a minute."},
	{NodeWithoutInternalIP, "Node", v1.EventTypeWarning, "The droplet has no private address, so the Node has no InternalIP. Start kube-apiserver with `--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname`."},
	{NodeAddressMismatch, "Node", v1.EventTypeWarning, "The kubelet was started with a `--node-ip` that the droplet doesn't have; the framework keeps the Node tainted until they agree."},
	{ForeignProviderID, "Node", v1.EventTypeWarning, "The Node's provider ID isn't `digitalocean://<droplet id>`. The Node is left alone: no look-up, no removal, no backend."},
	{NodeNeverInitialized, "Node", v1.EventTypeWarning, "The kubelet registered without `--cloud-provider=external`, so nothing initialises the Node."},
	{NodeDeletionBlocked, "Node", v1.EventTypeWarning, "The Node looks gone but is kept, since many do at once (see `NODE_DELETION_BRAKE`) or since the API token doesn't show the rest of the cluster any more."},
	{NodeNotRemoved, "Node", v1.EventTypeWarning, "The droplet is gone and the Node was to be removed, but it is still there: the manager may not remove Nodes (the framework's event DeletingNodeFailed says so), or a finalizer holds it."},
	{DropletGone, "Node", v1.EventTypeWarning, "The droplet of the provider ID doesn't exist any more, but the kubelet is ready. The Node is kept while it is."},
	{DropletReplaced, "Node", v1.EventTypeWarning, "The same, and another droplet has the name now. The message names both. Delete the Node object and restart the kubelet, so that it registers anew."},
	{LoadBalancerConfigError, "Service", v1.EventTypeWarning, "Annotations or ports that can't be used, all of them at once. Until they are mended no load balancer is made, and the settings of one that exists stay as they are; its backends are kept up to date."},
	{AnnotationWarning, "Service", v1.EventTypeWarning, "Annotations that have no effect (misspelt, not for this type of load balancer, not without another one) or another than it seems. The load balancer is made all the same."},
	{LoadBalancerCreated, "Service", v1.EventTypeNormal, "A load balancer was made."},
	{LoadBalancerUpdated, "Service", v1.EventTypeNormal, "The load balancer was changed; the message lists what."},
	{LoadBalancerAdopted, "Service", v1.EventTypeNormal, "A load balancer that was made for this Service before was found again."},
	{LoadBalancerFirstContact, "Service", v1.EventTypeWarning, "A load balancer that this manager works on for the first time differs from its Service. The message lists what will be changed, and when: one drift period later. Until then the Service can be edited, or the load balancer disowned."},
	{LoadBalancerDrift, "Service", v1.EventTypeWarning, "Somebody else changed the load balancer, in the console or by another tool, and it was put back, or, with `report` of the Service's drift annotation, is left. The message lists what, and what in the Service decides about it."},
	{LoadBalancerContested, "Service", v1.EventTypeWarning, "Somebody else undoes what the manager puts back, three times within an hour. From now on it is put back after longer and longer waits."},
	{LoadBalancerPlan, "Service", v1.EventTypeNormal, "The Service asks for a dry run: the message tells what would be done, and nothing of it is. The annotation `kubernetes.digitalocean.com/load-balancer-plan` has more of it."},
	{LoadBalancerRetained, "Service", v1.EventTypeNormal, "The Service was deleted or got another type, and its load balancer stays, as its retain-on-delete annotation asks for. The message tells its id and address, with which another Service can take it over. It costs money until somebody deletes it."},
	{StatusOverwritten, "Service", v1.EventTypeWarning, "Another controller writes the Service's status, which is put right once a drift period at most."},
	{LoadBalancerNotFound, "Service", v1.EventTypeWarning, "The load balancer of the id annotation doesn't exist any more; another one is used or made."},
	{LoadBalancerNotOwned, "Service", v1.EventTypeWarning, "The load balancer that the Service names belongs to another Service, which keeps it: the one it was made for, or the older one; or it isn't this Service's, and a limit in the manager's configuration forbids to take over others. Deleting this Service doesn't touch it."},
	{LoadBalancerNameTaken, "Service", v1.EventTypeWarning, "The name that the manager's template gives the load balancer is that of another one. The load balancer gets the name with the Service's UID instead."},
	{LoadBalancerErrored, "Service", v1.EventTypeWarning, "DigitalOcean failed to make the load balancer. One that never served is deleted and made again, after longer and longer waits."},
	{LoadBalancerImmutable, "Service", v1.EventTypeWarning, "What was changed can't be changed on a load balancer that exists."},
	{LoadBalancerDisowned, "Service", v1.EventTypeNormal, "The load balancer is left alone, as the Service's disown annotation asks for."},
	{LoadBalancerRequestFailed, "Service", v1.EventTypeWarning, "DigitalOcean refused a request or couldn't be asked; the message says who has to act."},
	{LoadBalancerResizeRefused, "Service", v1.EventTypeWarning, "DigitalOcean refuses another size so soon after the last change of it. It is tried again; other changes are not held up."},
	{CertificateRenewed, "Service", v1.EventTypeNormal, "Let's Encrypt renewed the certificate, which gives it another id; the certificate-id annotation follows."},
	{NoEligibleBackends, "Service", v1.EventTypeWarning, "The load balancer has no droplet to send to; the message says why."},
	{BackendsLeftOut, "Service", v1.EventTypeWarning, "Nodes without a public IPv6 address can't be backends of a network load balancer with both protocols; the others serve."},
	{InternalError, "Service", v1.EventTypeWarning, "A defect in the manager stopped the work for this Service; the log says more. Please report it."},
	{TargetTagFailed, "Service", v1.EventTypeWarning, "With targeting by tag, the droplets that are backends can't be tagged. The load balancer serves with the droplets it has; the message says what DigitalOcean answered. It is tried again."},
	{LoadBalancersOrphaned, "Lease", v1.EventTypeWarning, "Load balancers carry the cluster's mark but belong to no Service. They cost money and are never deleted by the manager; the message names them."},
	{AnotherManager, "Lease", v1.EventTypeWarning, "Another cloud controller manager works on this cluster, as the public one that was not stopped: it holds the lease that such managers take, or wrote to Nodes or Services. The message names it and what it did. Stop one of the two."},
	{TokenRefused, "Lease", v1.EventTypeWarning, "DigitalOcean refuses the API token. Nothing works until it is replaced; a token file is read again by itself."},
	{FirewallConfigError, "Service", v1.EventTypeWarning, "Something in the Service keeps the public access firewall from opening all of its ports: an annotation that can't be used, a protocol that DigitalOcean's firewalls don't know, a port of Kubernetes' own components. What it opened for the Service before stays open."},
	{FirewallLimit, "Service, Lease", v1.EventTypeWarning, "On a Service: the public access firewall has no room for its ports, as older Services use what DigitalOcean takes. On the lease: that is so, or near."},
	{FirewallRequestFailed, "Service, Lease", v1.EventTypeWarning, "DigitalOcean refused to read or change the public access firewall, or couldn't be asked; the message says what to look at. Services whose ports wait for it have the event too."},
	{FirewallCreated, "Lease", v1.EventTypeNormal, "The public access firewall was made."},
	{FirewallUpdated, "Lease", v1.EventTypeNormal, "The public access firewall was changed as Services changed; the message lists what."},
	{FirewallTakenOver, "Lease", v1.EventTypeWarning, "At its start the manager found a firewall of the configured name that wasn't what the Services need; the message lists what was replaced."},
	{FirewallRestored, "Lease", v1.EventTypeWarning, "Somebody else changed or deleted the public access firewall; it was put back. The message lists what was added and removed."},
	{FirewallContested, "Lease", v1.EventTypeWarning, "The same for the third time within an hour, as when two clusters use one firewall name. It is put back after longer and longer waits."},
}

// repeatAfter is when unchanged news is told again.
const repeatAfter = 30 * time.Minute

// Recorder sends events and keeps quiet about what it told already: the same
// reason with the same message for the same object is repeated after half an
// hour. It is safe for concurrent use.
type Recorder struct {
	sink  record.EventRecorder
	clock clock.PassiveClock

	mu   sync.Mutex
	told map[topic]news
}

type topic struct {
	uid    types.UID
	name   string
	reason Reason
}

type news struct {
	message string
	at      time.Time
}

// NewRecorder returns a recorder that sends to sink.
func NewRecorder(sink record.EventRecorder, clock clock.PassiveClock) *Recorder {
	return &Recorder{sink: sink, clock: clock, told: map[topic]news{}}
}

// Tell sends an event unless the same was told a short while ago. The type,
// normal or warning, is the one that the reason is documented with.
func (r *Recorder) Tell(object runtime.Object, reason Reason, message string) {
	if r.isNews(object, reason, message) {
		r.sink.Event(object, typeOf(reason), string(reason), message)
	}
}

// Forget makes the next Tell of the reason for the object news again: call it
// when the trouble is over.
func (r *Recorder) Forget(object runtime.Object, reason Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.told, topicOf(object, reason))
}

func (r *Recorder) isNews(object runtime.Object, reason Reason, message string) bool {
	now := r.clock.Now()
	key := topicOf(object, reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.told[key]; ok && old.message == message && now.Sub(old.at) < repeatAfter {
		return false
	}
	r.told[key] = news{message, now}
	r.prune(now)
	return true
}

// pruneAt bounds the memory of what was told.
const pruneAt = 10_000

func (r *Recorder) prune(now time.Time) {
	if len(r.told) < pruneAt {
		return
	}
	for key, old := range r.told {
		if now.Sub(old.at) >= repeatAfter {
			delete(r.told, key)
		}
	}
}

func topicOf(object runtime.Object, reason Reason) topic {
	t := topic{reason: reason}
	if ref, ok := object.(*v1.ObjectReference); ok {
		t.uid, t.name = ref.UID, ref.Namespace+"/"+ref.Name
	} else if accessor, err := meta.Accessor(object); err == nil {
		t.uid, t.name = accessor.GetUID(), accessor.GetNamespace()+"/"+accessor.GetName()
	}
	return t
}

func typeOf(reason Reason) string {
	for _, d := range Docs {
		if d.Reason == reason {
			return d.Type
		}
	}
	return v1.EventTypeWarning
}
