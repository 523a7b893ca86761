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

// maxControlBody bounds what is read of a request's body: snapshots are large.
const maxControlBody = 256 << 20

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
	Droplets      []Droplet        `json:"droplets"`
	LoadBalancers []LoadBalancer   `json:"load_balancers"`
	Tags          []Tag            `json:"tags"`
	VPCs          []VPC            `json:"vpcs"`
	Certificates  []Certificate    `json:"certificates"`
	Firewalls     []Firewall       `json:"firewalls"`
	Projects      []Project        `json:"projects"`
	ReservedIPs   []ReservedIP     `json:"reserved_ips"`
	Volumes       []Volume         `json:"volumes"`
	Snapshots     []VolumeSnapshot `json:"snapshots"`
	Subnets       []VPCSubnet      `json:"vpc_subnets"`
	SSHKeys       []SSHKey         `json:"ssh_keys"`
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
		Team: t.identity(), Droplets: []Droplet{}, LoadBalancers: []LoadBalancer{},
		Tags: []Tag{}, VPCs: []VPC{}, Certificates: []Certificate{},
		Firewalls: []Firewall{}, Projects: []Project{}, ReservedIPs: []ReservedIP{},
		Volumes: []Volume{}, Snapshots: []VolumeSnapshot{}, Subnets: []VPCSubnet{}, SSHKeys: []SSHKey{},
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
	for p := range t.projects.all() {
		state.Projects = append(state.Projects, *p)
	}
	shower := &call{s: s, team: t, now: now}
	for r := range t.reservedIPs.all() {
		state.ReservedIPs = append(state.ReservedIPs, shower.showReservedIP(r))
	}
	for v := range t.volumes.all() {
		state.Volumes = append(state.Volumes, v.Volume.clone())
	}
	for found := range t.subnets.all() {
		state.Subnets = append(state.Subnets, *found)
	}
	for found := range t.snapshots.all() {
		state.Snapshots = append(state.Snapshots, found.clone())
	}
	for k := range t.keys.all() {
		state.SSHKeys = append(state.SSHKeys, *k)
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
	t.add(http.MethodPost, ControlPath+"scenario", controlLoad)
	t.add(http.MethodGet, ControlPath+"snapshot", controlSave)
	t.add(http.MethodPut, ControlPath+"snapshot", controlRestore)
	t.add(http.MethodGet, ControlPath+"requests", controlRequests)
	t.add(http.MethodDelete, ControlPath+"requests", controlDo((*Simulator).ResetRequests))
	t.add(http.MethodGet, ControlPath+"faults", controlFaults)
	t.add(http.MethodPost, ControlPath+"faults", controlAddFault)
	t.add(http.MethodDelete, ControlPath+"faults", controlDo((*Simulator).ClearFaults))
	t.add(http.MethodDelete, ControlPath+"faults/{id}", controlRemoveFault)
	t.add(http.MethodGet, ControlPath+"settings", controlSettings)
	t.add(http.MethodPatch, ControlPath+"settings", controlChangeSettings)
	addConsoleRoutes(t)
	return t
}

// serveControl runs an operation of the control surface. Unlike the API's, its
// handlers are called without the lock: they use the public methods.
func (s *Simulator) serveControl(w http.ResponseWriter, r *http.Request) {
	if err := refuseOtherSites(r); err != nil {
		writeReply(w, controlRefusal(http.StatusForbidden, err))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControlBody))
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

func controlRequests(c *call) (reply, error) {
	filter := requestFilter{method: c.query.Get("method"), path: c.query.Get("path"), team: c.query.Get("team")}
	if text := c.query.Get("status"); text != "" {
		status, err := strconv.Atoi(text)
		if err != nil {
			return reply{}, fmt.Errorf("status: %w", err)
		}
		filter.status = status
	}
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
	if err := patch.validate(); err != nil {
		return reply{}, err
	}
	c.s.ChangeSettings(patch)
	return controlSettings(c)
}
