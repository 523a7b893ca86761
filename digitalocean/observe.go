package digitalocean

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/firewall"
	"digitalocean-cloud-controller-manager/internal/instances"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/periodic"
	"digitalocean-cloud-controller-manager/internal/state"
	"digitalocean-cloud-controller-manager/internal/version"
)

// observed are those who know the objects, on the replica that leads.
type observed struct {
	book      *state.Book
	instances *instances.Instances
	droplets  *inventory.Droplets
	balancers *inventory.LoadBalancers
}

// newBook makes the book of what is known of the Services.
func (c *Cloud) newBook(factory informers.SharedInformerFactory) *state.Book {
	services := factory.Core().V1().Services().Lister()
	return state.NewBook(c.clock, func() []*v1.Service {
		all, err := services.List(labels.Everything())
		if err != nil {
			return nil // an informer's lister returns none
		}
		return all
	})
}

// observe shows to operators what is known from now on.
func (c *Cloud) observe(o *observed) {
	c.observed.Store(o)
	c.registry.CustomMustRegister(
		inventory.NewCollector(o.droplets), inventory.NewBalancerCollector(o.balancers),
		instances.NewCollector(o.instances), state.NewCollector(func() state.Summary { return c.summary(o) }),
	)
}

// follow shows what a controller did last.
func (c *Cloud) follow(r runner) {
	o := c.observed.Load()
	if o == nil {
		return
	}
	switch r := r.(type) {
	case interface {
		runner
		Status() periodic.Status
	}:
		o.book.Follow(r.Name(), func() state.Run { return state.Run(r.Status()) })
	case *firewall.Controller:
		c.firewall.Store(r)
		o.book.Follow(r.Name(), func() state.Run {
			s := r.Status()
			return state.Run{Last: s.Checked, Error: s.Error, Next: s.Next}
		})
	}
}

// report is everything that operators see. It makes no call.
func (c *Cloud) report() state.Report {
	r := state.Report{
		Time: c.clock.Now(), Version: version.Version(), Commit: version.Commit(), Started: c.begun,
		ClusterID: c.config.ClusterID, API: c.reportAPI(), Services: []state.Service{}, Nodes: []state.Node{},
	}
	if c.started.Load() {
		r.Region = c.region // settled before that
	}
	o := c.observed.Load()
	if o == nil {
		return r
	}
	r.Leads, r.ObserveOnly, r.Rehearsed = c.rehearsal == nil, c.rehearsal != nil, c.rehearsal.Pending()
	r.Services, r.Nodes = o.book.Services(o.balancers.Known), o.instances.Report()
	r.Snapshots, r.Controllers, r.Firewall = o.snapshots(), o.book.Controllers(), c.reportFirewall()
	return r
}

func (c *Cloud) summary(o *observed) state.Summary {
	return state.Summarize(c.clock.Now(), o.book.Services(o.balancers.Known), o.instances.Away(), c.reportFirewall(), o.book.Controllers())
}

func (c *Cloud) reportAPI() state.API {
	health, quota := c.client.Health(), c.client.Quota()
	return state.API{
		OK: health.OK, Checked: health.Checked, Class: string(health.Class), Message: health.Message,
		Limit: quota.Limit, Remaining: quota.Remaining, Reset: quota.Reset, Learned: quota.Learned,
		MinuteUsed: quota.MinuteUsed, MinuteLimit: quota.MinuteLimit,
		PausedUntil: quota.PausedUntil, Waiting: quota.Waiting,
	}
}

func (o *observed) snapshots() []state.Snapshot {
	droplets := o.droplets.Statistics()
	balancers, listed, oldest := o.balancers.Statistics()
	return []state.Snapshot{
		{Of: "droplets", Objects: droplets.Droplets, Listed: droplets.Listed, Oldest: droplets.Oldest},
		{Of: "load balancers", Objects: balancers, Listed: listed, Oldest: oldest},
	}
}

// reportFirewall is nil where no firewall is kept.
func (c *Cloud) reportFirewall() *state.Firewall {
	controller := c.firewall.Load()
	if controller == nil {
		return nil
	}
	s := controller.Status()
	f := &state.Firewall{ID: s.ID, Name: c.config.Firewall.Name, Rules: s.Rules, Targets: s.Targets}
	for _, key := range s.LeftOut {
		f.LeftOut = append(f.LeftOut, key.String())
	}
	switch {
	case s.Error != "" && s.Checked.IsZero():
		f.AwaySince = c.begun
	case s.Error != "":
		f.AwaySince = s.Checked
	}
	return f
}

// notStartedError is work that can't begin before the API has answered.
type notStartedError struct{}

func (notStartedError) Error() string {
	return "the DigitalOcean API has not answered since the manager started"
}

// Result sorts the error for metrics.
func (notStartedError) Result() state.Result { return state.ResultCloud }

var errNotStarted error = notStartedError{}

// beginObserving makes what there is to see on every replica.
func (c *Cloud) beginObserving() {
	c.begun = c.clock.Now().Truncate(time.Second)
	c.process = state.NewMetrics(c.registry.MustRegister)
	c.process.Built(version.Version(), version.Commit())
}
