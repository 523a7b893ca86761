package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/digitalocean/godo"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/preview"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// Names of reads that checks depend on.
const (
	readVPC      = "The VPC"
	readDroplets = "Droplets"
	readLease    = "The manager's lease"

	leaseNamespace = "kube-system"
	leaseName      = "cloud-controller-manager"
)

// Options are how facts are read.
type Options struct {
	Settings *config.Config
	Client   *doapi.Client
	Kube     kubernetes.Interface
	Clock    clock.WithTicker
}

// Gather reads what the checks go by. What can't be read is noted, and is no error.
func Gather(ctx context.Context, o Options) *Facts {
	f := &Facts{Now: o.Clock.Now(), Settings: o.Settings, Ready: map[string]int{}, Pods: map[string]Endpoints{}}
	g := gatherer{f}
	g.account(ctx, o)
	g.cluster(ctx, o)
	g.webhooks(ctx, o.Kube)
	g.foretell(ctx, o)
	g.pods(ctx, o.Kube)
	g.unlisted(ctx, o)
	f.Quota = o.Client.Quota()
	return f
}

type gatherer struct{ *Facts }

// try notes what came of a read.
func (g gatherer) try(what, scope string, err error) bool {
	g.Reads = append(g.Reads, Read{what, scope, err})
	return err == nil
}

func (g gatherer) account(ctx context.Context, o Options) {
	c := o.Client
	_, _, err := c.Account.Get(ctx)
	g.try("The account", "account:read", err)
	g.Regions, err = doapi.ListAll(ctx, c.Regions.List, func(r godo.Region) string { return r.Slug })
	g.try("Regions", "regions:read", err)
	g.droplets(ctx, c)
	one := &godo.ListOptions{PerPage: 1}
	_, _, err = c.LoadBalancers.List(ctx, one)
	g.try("Load balancers", "load_balancer:read", err)
	_, _, err = c.Certificates.List(ctx, one)
	g.try("Certificates", "certificate:read", err)
	_, _, err = c.Tags.List(ctx, one)
	g.try("Tags", "tag:read", err)
	if id := o.Settings.VPCID; id != "" {
		vpc, _, err := c.VPCs.Get(ctx, id)
		if doapi.IsNotFound(err) {
			vpc, err = nil, nil
		}
		g.VPC = vpc
		g.try(readVPC, "vpc:read", err)
	}
	if o.Settings.Firewall != nil {
		g.Firewalls, err = doapi.ListAll(ctx, c.Firewalls.List, func(fw godo.Firewall) string { return fw.ID })
		g.try("Firewalls", "firewall:read", err)
	}
}

// droplets lists them all: the plain list leaves those with GPUs out.
func (g gatherer) droplets(ctx context.Context, c *doapi.Client) {
	id := func(d godo.Droplet) string { return fmt.Sprint(d.ID) }
	plain, err := doapi.ListAll(ctx, c.Droplets.List, id)
	var gpus []godo.Droplet
	if err == nil {
		gpus, err = doapi.ListAll(ctx, c.Droplets.ListWithGPUs, id)
	}
	if g.try(readDroplets, "droplet:read", err) {
		g.Droplets = append(plain, gpus...)
	}
}

// mostUnlisted bounds the droplets that are asked for one by one. More than so
// many are missing because of the token rather than of a list that is late.
const mostUnlisted = 10

// unlisted asks for the droplets of Nodes that no list has: that something isn't
// in a list doesn't prove that it is gone.
func (g gatherer) unlisted(ctx context.Context, o Options) {
	if !g.read(readDroplets) {
		return
	}
	asked := 0
	for _, node := range g.Nodes {
		id, err := providerid.Parse(node.Spec.ProviderID)
		if err != nil || slices.ContainsFunc(g.Droplets, func(d godo.Droplet) bool { return d.ID == id }) {
			continue
		}
		if asked++; asked > mostUnlisted {
			return
		}
		d, _, err := o.Client.Droplets.Get(ctx, id)
		switch {
		case err == nil:
			g.Droplets = append(g.Droplets, *d)
		case !doapi.IsNotFound(err):
			g.try(fmt.Sprintf("Droplet %d", id), "droplet:read", err)
		}
	}
}

func (g gatherer) cluster(ctx context.Context, o Options) {
	everything := metav1.ListOptions{}
	lease, err := o.Kube.CoordinationV1().Leases(leaseNamespace).Get(ctx, leaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease, err = nil, nil
	}
	if g.try(readLease, "", err) {
		g.Lease = lease
	}
	deployments, err := o.Kube.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, everything)
	if g.try("Deployments", "", err) {
		g.Deployments = deployments.Items
	}
	daemonSets, err := o.Kube.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, everything)
	if g.try("DaemonSets", "", err) {
		g.DaemonSets = daemonSets.Items
	}
}

// webhooks reads the webhooks, and who answers for those of the manager.
func (g gatherer) webhooks(ctx context.Context, kube kubernetes.Interface) {
	all, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if !g.try("Webhooks", "", err) {
		return
	}
	g.Webhooks = all.Items
	for _, c := range all.Items {
		for _, w := range c.Webhooks {
			if ref := w.ClientConfig.Service; ref != nil && isManagers(c.Name, w) {
				g.endpoints(ctx, kube, ref.Namespace, ref.Name)
			}
		}
	}
}

func (g gatherer) endpoints(ctx context.Context, kube kubernetes.Interface, namespace, name string) {
	_, err := kube.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	if !g.try("The webhook's Service", "", err) {
		return
	}
	all, err := kube.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
	if g.try("The endpoints of the webhook's Service", "", err) {
		g.Ready[namespace+"/"+name] = count(all.Items)[name].Ready
	}
}

// count counts the endpoints of slices of one namespace by Service.
func count(slices []discoveryv1.EndpointSlice) map[string]Endpoints {
	counted := map[string]Endpoints{}
	for _, slice := range slices {
		name := slice.Labels[discoveryv1.LabelServiceName]
		n := counted[name]
		for _, e := range slice.Endpoints {
			n.All++
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				n.Ready++
			}
		}
		counted[name] = n
	}
	return counted
}

// pods counts what answers for the Services of the manager: one list for each
// namespace that has any, not of what all others in the cluster have.
func (g gatherer) pods(ctx context.Context, kube kubernetes.Interface) {
	byNamespace := map[string][]string{}
	for _, e := range g.Entries {
		namespace, name, _ := strings.Cut(e.Service, "/")
		byNamespace[namespace] = append(byNamespace[namespace], name)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		all, err := kube.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName})
		if !g.try("The endpoints of Services", "", err) {
			return // one for all: whoever may not here hardly may elsewhere
		}
		counted := count(all.Items)
		for _, name := range byNamespace[namespace] {
			g.Pods[namespace+"/"+name] = counted[name]
		}
	}
}

// foretell has the manager's own decisions tell what is wrong with Services.
func (g gatherer) foretell(ctx context.Context, o Options) {
	cluster, err := preview.ReadCluster(ctx, o.Kube, o.Settings.Limits.NeedNamespaces())
	if !g.try("Services and Nodes", "", err) {
		return
	}
	g.Nodes, g.Services = cluster.Nodes, cluster.Services
	p := preview.New(preview.Options{Settings: o.Settings, Client: o.Client, Region: o.Settings.Region, Cluster: cluster, Clock: o.Clock})
	defer p.Close()
	for i := range cluster.Services {
		entry, err := p.Of(ctx, &cluster.Services[i])
		if err != nil {
			// One for all: it is the account's trouble, not the Service's.
			g.try("What Services need", "load_balancer:read, droplet:read and certificate:read", err)
			return
		}
		if entry.Ours {
			g.Entries = append(g.Entries, entry)
		}
	}
}
