// Package preview foretells what the manager would do for the Services of a
// cluster, and does nothing of it. What is decided, the manager's own reconciler
// decides, from what Kubernetes and DigitalOcean hold at this moment; here is what
// feeds it, and what shows its decisions to people and programs.
package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/instances"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/internal/targets"
)

// Options are what a preview is made from.
type Options struct {
	// Settings are the manager's.
	Settings *config.Config
	// Client reads DigitalOcean's API; see [NoWrites].
	Client *doapi.Client
	// Region is the slug in which load balancers are made.
	Region  string
	Cluster Cluster
	Clock   clock.WithTicker
}

// Preview foretells for one moment; it is of no use for long. It must be closed.
type Preview struct {
	reconciler *reconciler.Reconciler
	told       *told
}

// Note is what the manager would tell of a Service, as it would in an event.
type Note struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Entry is what would become of one Service.
type Entry struct {
	// Service is namespace/name.
	Service string
	// Unborn is true where the Service doesn't exist yet, so that what hangs on
	// its UID isn't known.
	Unborn bool
	reconciler.Forecast
	Notes []Note

	defaultName string
}

// New makes a preview. It makes no call.
func New(o Options) *Preview {
	told := &told{}
	nodes := instances.Unignored(o.Cluster.nodeLister(), o.Settings.Nodes.Ignore)
	recorder := events.NewRecorder(told, o.Clock)
	options := reconciler.Options{
		// Nothing is written: there is neither a way to write to DigitalOcean nor
		// a client for Kubernetes.
		Balancers:    inventory.NewLoadBalancers(o.Client.LoadBalancers, o.Clock),
		Certificates: o.Client.Certificates,
		Droplets:     inventory.NewDroplets(o.Client.Droplets, o.Client.Account, instances.ClusterOf(nodes), o.Clock),
		Services:     o.Cluster.serviceLister(), Nodes: nodes, Recorder: recorder,
		Defaults: o.Settings.Defaults, Clock: o.Clock,
		Cluster: func() (loadbalancer.Cluster, error) {
			s := o.Settings
			return loadbalancer.Cluster{ID: s.ClusterID, Region: o.Region, VPC: s.VPCID, HealthCheck: s.HealthCheck, Names: s.NameTemplate}, nil
		},
		DriftPeriod: o.Settings.DriftPeriod, KeepMissing: o.Settings.KeepMissing,
		Limits: reconciler.Limits{Limits: o.Settings.Limits, Namespaces: o.Cluster.namespaceLister()},
	}
	if tag := o.Settings.TargetTag; tag != "" {
		options.Target = reconciler.Target{Tag: targets.New(tag, o.Client.Tags, o.Client.Droplets, o.Clock), Wanted: o.Settings.TargetByTag}
	}
	return &Preview{reconciler.New(options), told}
}

// Close frees what the preview holds.
func (p *Preview) Close() { p.reconciler.Close() }

// Of foretells for one Service.
func (p *Preview) Of(ctx context.Context, svc *v1.Service) (Entry, error) {
	e := Entry{Service: svc.Namespace + "/" + svc.Name, Unborn: isUnborn(svc), defaultName: loadbalancer.DefaultName(svc)}
	p.told.notes = nil
	var err error
	if e.Forecast, err = p.reconciler.Forecast(ctx, svc); err != nil {
		return e, fmt.Errorf("service %s: %w", e.Service, err)
	}
	e.Notes = p.told.notes
	return e, nil
}

// All foretells for those of the Services that are the manager's, by their names.
func (p *Preview) All(ctx context.Context, services []*v1.Service) ([]Entry, error) {
	var entries []Entry
	for _, svc := range services {
		e, err := p.Of(ctx, svc)
		if err != nil {
			return nil, err
		}
		if e.Ours {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Service, b.Service) })
	return entries, nil
}

// Orphans returns the load balancers of this cluster that belong to no Service, by
// their names. Without an id of the cluster nothing tells them from others'.
func (p *Preview) Orphans(ctx context.Context) ([]*godo.LoadBalancer, error) {
	orphans, err := p.reconciler.Orphans(ctx)
	slices.SortFunc(orphans, func(a, b *godo.LoadBalancer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return orphans, err
}

// told gathers what would be told of one Service.
type told struct {
	record.EventRecorder
	notes []Note
}

// Event implements [record.EventRecorder].
func (t *told) Event(_ runtime.Object, _, reason, message string) {
	t.notes = append(t.notes, Note{reason, message})
}
