package drift

import "k8s.io/component-base/metrics"

// NodeMetrics are those of the labels of Nodes. A nil *NodeMetrics records
// nothing.
type NodeMetrics struct{ patches *metrics.CounterVec }

// NewNodeMetrics makes the metrics and registers them.
func NewNodeMetrics(register func(...metrics.Registerable)) *NodeMetrics {
	m := &NodeMetrics{patches: metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "digitalocean_ccm_node_label_patches_total",
		Help:           "Nodes whose labels differed from their droplet and were written, by result: success or error.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})}
	register(m.patches)
	return m
}

func (m *NodeMetrics) relabelled(err error) {
	switch {
	case m == nil:
	case err != nil:
		m.patches.WithLabelValues("error").Inc()
	default:
		m.patches.WithLabelValues("success").Inc()
	}
}
