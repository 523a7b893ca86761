package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// controlError is a refusal of the control surface.
type controlError struct {
	Error string `json:"error"`
}

// State is everything that a simulator holds, as GET /_simulator/state shows it.
type State struct {
	Time     time.Time     `json:"time"`
	Settings SettingsPatch `json:"settings"`
	Faults   []Fault       `json:"faults"`
	Teams    []TeamState   `json:"teams"`
}

// TeamState is everything that a team has.
type TeamState struct {
	Team
	Droplets      []Droplet      `json:"droplets"`
	LoadBalancers []LoadBalancer `json:"load_balancers"`
	Tags          []Tag          `json:"tags"`
	VPCs          []VPC          `json:"vpcs"`
	Certificates  []Certificate  `json:"certificates"`
	Firewalls     []Firewall     `json:"firewalls"`
}

// State returns a copy of everything that the simulator holds.
func (s *Simulator) State() State {
	faults := s.Faults()
	now := s.lock()
	defer s.mu.Unlock()
	state := State{Time: now, Settings: s.settings.asPatch(), Faults: faults, Teams: []TeamState{}}
	for _, name := range s.teamOrder {
		state.Teams = append(state.Teams, s.teamState(s.teams[name], now))
	}
	return state
}

func (s *Simulator) teamState(t *team, now time.Time) TeamState {
	state := TeamState{
		Team: t.account().Team, Droplets: []Droplet{}, LoadBalancers: []LoadBalancer{},
		Tags: []Tag{}, VPCs: []VPC{}, Certificates: []Certificate{},
		Firewalls: []Firewall{},
	}
	for d := range t.droplets.all() {
		state.Droplets = append(state.Droplets, d.show(now).clone())
	}
	for lb := range t.loadBalancers.all() {
		state.LoadBalancers = append(state.LoadBalancers, s.showLoadBalancer(t, lb, now).clone())
	}
	for found := range t.tags.all() {
		state.Tags = append(state.Tags, t.showTag(found, ""))
	}
	for v := range t.vpcs.all() {
		state.VPCs = append(state.VPCs, *v)
	}
	for cert := range t.certificates.all() {
		state.Certificates = append(state.Certificates, cert.show(now).clone())
	}
	for f := range t.firewalls.all() {
		state.Firewalls = append(state.Firewalls, f.show(now).clone())
	}
	return state
}

func newControlRouter() *router {
	t := &router{}
	t.add(http.MethodGet, ControlPath+"state", controlState)
	t.add(http.MethodPost, ControlPath+"droplets", controlAddDroplet)
	t.add(http.MethodPatch, ControlPath+"droplets/{id}", controlPatchDroplet)
	t.add(http.MethodDelete, ControlPath+"droplets/{id}", onDroplet((*Simulator).DeleteDroplet))
	t.add(http.MethodPost, ControlPath+"droplets/{id}/stop", onDroplet((*Simulator).StopDroplet))
	t.add(http.MethodPost, ControlPath+"droplets/{id}/start", onDroplet((*Simulator).StartDroplet))
	t.add(http.MethodPatch, ControlPath+"load_balancers/{id}", controlEditLoadBalancer)
	t.add(http.MethodDelete, ControlPath+"load_balancers/{id}", onID((*Simulator).DeleteLoadBalancer))
	t.add(http.MethodPatch, ControlPath+"firewalls/{id}", controlEditFirewall)
	t.add(http.MethodDelete, ControlPath+"firewalls/{id}", onID((*Simulator).DeleteFirewall))
	t.add(http.MethodPost, ControlPath+"certificates", controlAddCertificate)
	t.add(http.MethodPost, ControlPath+"certificates/{id}/rotate", controlRotateCertificate)
	t.add(http.MethodDelete, ControlPath+"certificates/{id}", onID((*Simulator).RemoveCertificate))
	t.add(http.MethodGet, ControlPath+"requests", controlRequests)
	t.add(http.MethodDelete, ControlPath+"requests", controlDo((*Simulator).ResetRequests))
	t.add(http.MethodGet, ControlPath+"faults", controlFaults)
	t.add(http.MethodPost, ControlPath+"faults", controlAddFault)
	t.add(http.MethodDelete, ControlPath+"faults", controlDo((*Simulator).ClearFaults))
	t.add(http.MethodDelete, ControlPath+"faults/{id}", controlRemoveFault)
	t.add(http.MethodGet, ControlPath+"settings", controlSettings)
	t.add(http.MethodPatch, ControlPath+"settings", controlChangeSettings)
	return t
}

// serveControl runs an operation of the control surface. Unlike the API's, its
// handlers are called without the lock: they use the public methods.
func (s *Simulator) serveControl(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeReply(w, controlRefusal(http.StatusBadRequest, fmt.Errorf("read the body: %w", err)))
		return
	}
	handle, params, allowed := s.control.find(r.Method, r.URL.Path)
	switch {
	case handle != nil:
		answer, err := handle(&call{s: s, params: params, query: r.URL.Query(), body: body})
		if err != nil {
			answer = controlRefusal(controlStatus(err), err)
		}
		writeReply(w, answer)
	case len(allowed) > 0:
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeReply(w, controlRefusal(http.StatusMethodNotAllowed, fmt.Errorf("%s is not allowed here", r.Method)))
	default:
		writeReply(w, controlRefusal(http.StatusNotFound, fmt.Errorf("the control surface has no %s", r.URL.Path)))
	}
}

func controlRefusal(status int, err error) reply {
	return reply{status: status, body: encode(controlError{err.Error()})}
}

func controlStatus(err error) int {
	switch {
	case errors.Is(err, ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, ErrInUse):
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

// strict decodes JSON and refuses members that v does not have, which are most
// likely misspelt.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	return nil
}

func (c *call) controlID() (int, error) {
	id, err := strconv.Atoi(c.params["id"])
	if err != nil {
		return 0, fmt.Errorf("id %q: %w", c.params["id"], ErrNotFound)
	}
	return id, nil
}

func controlState(c *call) (reply, error) { return jsonReply(http.StatusOK, c.s.State()) }

// controlDo serves what takes nothing and gives nothing.
func controlDo(do func(*Simulator)) handler {
	return func(c *call) (reply, error) {
		do(c.s)
		return noContent()
	}
}

// onDroplet serves what takes a droplet's id only.
func onDroplet(do func(*Simulator, int) error) handler {
	return func(c *call) (reply, error) {
		id, err := c.controlID()
		if err != nil {
			return reply{}, err
		}
		if err := do(c.s, id); err != nil {
			return reply{}, err
		}
		return noContent()
	}
}

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

func controlRequests(c *call) (reply, error) {
	filter := requestFilter{method: c.query.Get("method"), path: c.query.Get("path")}
	if text := c.query.Get("since"); text != "" {
		since, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return reply{}, fmt.Errorf("since is the sequence number of the last request you know: %w", err)
		}
		filter.since = since
	}
	c.s.lock()
	defer c.s.mu.Unlock()
	return jsonReply(http.StatusOK, map[string]any{
		"requests": c.s.log.filtered(filter), "last_sequence": c.s.log.last,
	})
}

func controlFaults(c *call) (reply, error) {
	return jsonReply(http.StatusOK, map[string]any{"faults": c.s.Faults()})
}

func controlAddFault(c *call) (reply, error) {
	var fault Fault
	if err := json.Unmarshal(c.body, &fault); err != nil {
		return reply{}, fmt.Errorf("read the fault: %w", err)
	}
	if err := fault.validate(); err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusCreated, map[string]any{"id": c.s.AddFault(fault)})
}

func controlRemoveFault(c *call) (reply, error) {
	id, err := c.controlID()
	if err != nil {
		return reply{}, err
	}
	c.s.RemoveFault(id)
	return noContent()
}

func controlSettings(c *call) (reply, error) {
	return jsonReply(http.StatusOK, c.s.Settings().asPatch())
}

func controlChangeSettings(c *call) (reply, error) {
	var patch SettingsPatch
	if err := strict(c.body, &patch); err != nil {
		return reply{}, err
	}
	if err := validateListLag(patch.ListLag); err != nil {
		return reply{}, err
	}
	c.s.ChangeSettings(patch)
	return controlSettings(c)
}
