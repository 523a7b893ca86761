package firewall

import (
	"slices"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/crash"
	"digitalocean-cloud-controller-manager/simulator"
)

// crashPath is something that has a manager write.
type crashPath struct {
	// before is worked on before the process begins that is killed, and after
	// once it has begun. Without before, there is no firewall until then.
	before, after func(*cluster)
	// writes are those of an undisturbed process.
	writes []string
}

func crashPaths() map[string]crashPath {
	const post, put, tag = "POST firewalls", "PUT firewalls/*", "POST tags"
	open := func(c *cluster) { c.create(nodePort("web", "tcp/80/30080")) }
	byHand := func(edit func(*simulator.Firewall)) func(*cluster) {
		return func(c *cluster) {
			if err := c.sim.EditFirewall(c.firewall().ID, edit); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	return map[string]crashPath{
		"made, with its tag": {nil, nil, []string{post, tag, post}},
		"a port opens":       {open, func(c *cluster) { c.create(nodePort("api", "tcp/80/30081")) }, []string{put}},
		"a port closes":      {open, func(c *cluster) { c.delete(nodePort("web")) }, []string{put}},
		"put back":           {open, byHand(func(fw *simulator.Firewall) { fw.InboundRules = nil }), []string{put}},
		"its tags put back":  {open, byHand(func(fw *simulator.Firewall) { fw.Tags = nil }), []string{put}},
		"made again": {open, func(c *cluster) {
			if err := c.sim.DeleteFirewall(c.firewall().ID); err != nil {
				c.t.Fatal(err)
			}
		}, []string{post}},
		"a load balancer that isn't there is left out": {open, func(c *cluster) {
			c.create(nodePort("api", "tcp/80/30081"))
			c.create(balancer("edge", []string{"tcp/443/31443"}, annotated(annotation.LoadBalancerID, balancerID)))
		}, []string{put, put}},
	}
}

// outcome is all that is left when time has passed.
type outcome struct {
	Firewalls []simulator.Firewall
	Tags      []string
}

func (c *cluster) outcome() (o outcome) {
	for _, fw := range c.sim.Firewalls() {
		fw.ID, fw.CreatedAt = "", time.Time{}
		slices.SortFunc(fw.InboundRules, func(a, b simulator.InboundRule) int {
			return slices.Compare([]string{a.Protocol, a.Ports}, []string{b.Protocol, b.Ports})
		})
		o.Firewalls = append(o.Firewalls, fw)
	}
	for _, tag := range c.sim.State().Teams[0].Tags {
		o.Tags = append(o.Tags, tag.Name)
	}
	return o
}

// begin starts a process that ends at the point.
func (c *cluster) begin(end crash.Point) *crash.Process {
	process := crash.NewProcess(end, func() { c.cancel() })
	c.transport = process.Transport(c.sim.Transport())
	c.start()
	return process
}

// crashed walks a path whose process ends as told, and returns what is left and
// what that process wrote.
func crashed(t *testing.T, way crashPath, end crash.Point) (left outcome, writes []string) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		if way.before != nil {
			c.start()
			way.before(c)
			c.wait(time.Hour)
			c.stop()
		}
		killed := c.begin(end)
		if way.after != nil {
			way.after(c)
		}
		now := killed
		for range 60 {
			c.wait(time.Minute)
			if now.Dead() {
				c.stop()
				now = c.begin(crash.Point{})
			}
		}
		c.stop()
		left, writes = c.outcome(), killed.Writes()
	})
	return left, writes
}

// Whatever a process was about to write, or had just written, when it was killed:
// the next one brings about what an undisturbed one would have.
func TestWhereverAProcessIsKilledTheNextOneFinishesItsWork(t *testing.T) {
	for name, way := range crashPaths() {
		t.Run(name, func(t *testing.T) {
			crash.Everywhere(t, way.writes, func(t *testing.T, end crash.Point) (outcome, []string) { return crashed(t, way, end) })
		})
	}
}
