package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

func controlAddDroplet(c *call) (reply, error) {
	var spec DropletSpec
	if len(c.body) > 0 {
		if err := strict(c.body, &spec); err != nil {
			return reply{}, err
		}
	}
	return jsonReply(http.StatusCreated, map[string]any{"droplet": c.s.AddDroplet(spec)})
}

func controlPatchDroplet(c *call) (reply, error) {
	id, err := c.controlID()
	if err != nil {
		return reply{}, err
	}
	var patch DropletPatch
	if err := strict(c.body, &patch); err != nil {
		return reply{}, err
	}
	if err := c.s.PatchDroplet(id, patch); err != nil {
		return reply{}, err
	}
	d, _ := c.s.Droplet(id)
	return jsonReply(http.StatusOK, map[string]any{"droplet": d})
}

// controlEditLoadBalancer replaces the members that the body names.
func controlEditLoadBalancer(c *call) (reply, error) {
	id := c.params["id"]
	var shown LoadBalancer
	err := c.s.editLoadBalancer(id, func(lb *LoadBalancer) error {
		edited, err := mergeLoadBalancer(*lb, c.body)
		*lb, shown = edited, edited
		return err
	})
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"load_balancer": shown})
}

// mergeLoadBalancer decodes into a fresh value and takes over the lists that
// were named as a whole, for decoding into a used list would mix both.
func mergeLoadBalancer(lb LoadBalancer, body []byte) (LoadBalancer, error) {
	var named map[string]json.RawMessage
	if err := json.Unmarshal(body, &named); err != nil {
		return lb, fmt.Errorf("read the body: %w", err)
	}
	lists := map[string]func(){
		"forwarding_rules":         func() { lb.ForwardingRules = nil },
		"droplet_ids":              func() { lb.DropletIDs = nil },
		"tags":                     func() { lb.Tags = nil },
		"domains":                  func() { lb.Domains = nil },
		"target_load_balancer_ids": func() { lb.TargetLoadBalancerIDs = nil },
		"firewall":                 func() { lb.Firewall = LoadBalancerFirewall{Allow: []string{}, Deny: []string{}} },
		"glb_settings":             func() { lb.GLBSettings = nil },
		"region":                   func() { lb.Region = nil },
	}
	for name, clear := range lists {
		if _, ok := named[name]; ok {
			clear()
		}
	}
	return lb, strict(body, &lb)
}

// controlEditFirewall replaces the members that the body names.
func controlEditFirewall(c *call) (reply, error) {
	var shown Firewall
	err := c.s.editFirewall(c.params["id"], func(f *Firewall) error {
		// Lists are replaced as a whole: decoding into a used one would mix both.
		fresh := *f
		fresh.InboundRules, fresh.OutboundRules, fresh.DropletIDs, fresh.Tags = nil, nil, nil, nil
		if err := strict(c.body, &fresh); err != nil {
			return err
		}
		fresh.keepLists(f)
		*f, shown = fresh, fresh
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"firewall": shown})
}

// keepLists takes over the lists that are nil.
func (f *Firewall) keepLists(from *Firewall) {
	keep(&f.InboundRules, from.InboundRules)
	keep(&f.OutboundRules, from.OutboundRules)
	keep(&f.DropletIDs, from.DropletIDs)
	keep(&f.Tags, from.Tags)
}

func keep[T any](list *[]T, fallback []T) {
	if *list == nil {
		*list = fallback
	}
}

func controlAddCertificate(c *call) (reply, error) {
	var spec CertificateSpec
	if err := strict(c.body, &spec); err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusCreated, map[string]any{"certificate": c.s.AddCertificate(spec)})
}

func controlRotateCertificate(c *call) (reply, error) {
	renewed, err := c.s.RotateCertificate(c.params["id"])
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"certificate": renewed})
}

// onID serves what takes the id of anything but a droplet only.
func onID(do func(*Simulator, string) error) handler {
	return func(c *call) (reply, error) {
		if err := do(c.s, c.params["id"]); err != nil {
			return reply{}, err
		}
		return noContent()
	}
}

func controlLoad(c *call) (reply, error) {
	if err := c.s.Load(bytes.NewReader(c.body)); err != nil {
		return reply{}, err
	}
	return noContent()
}

func controlSave(c *call) (reply, error) {
	var saved bytes.Buffer
	if err := c.s.Save(&saved); err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: saved.Bytes()}, nil
}

func controlRestore(c *call) (reply, error) {
	if err := c.s.Restore(bytes.NewReader(c.body)); err != nil {
		return reply{}, err
	}
	return noContent()
}
