package simulator

import "fmt"

// Firewalls returns copies of the firewalls of all teams, oldest first within a
// team.
func (s *Simulator) Firewalls() []Firewall {
	now := s.lock()
	defer s.mu.Unlock()
	found := []Firewall{}
	for _, name := range s.teamOrder {
		for f := range s.teams[name].firewalls.all() {
			found = append(found, f.show(now).clone())
		}
	}
	return found
}

// EditFirewall changes a firewall as if by hand in the console: no rule is
// checked, and it is applied at once. A changed status stays until the next
// write. edit runs with the simulator locked and must not use it. The error
// wraps ErrNotFound.
func (s *Simulator) EditFirewall(id string, edit func(*Firewall)) error {
	return s.editFirewall(id, func(f *Firewall) error {
		edit(f)
		return nil
	})
}

func (s *Simulator) editFirewall(id string, edit func(*Firewall) error) error {
	now := s.lock()
	defer s.mu.Unlock()
	_, f, err := s.teamOfFirewall(id)
	if err != nil {
		return err
	}
	before := f.show(now)
	after := before.clone()
	if err := edit(&after); err != nil {
		return fmt.Errorf("edit firewall %s: %w", id, err)
	}
	if after.Status != before.Status {
		f.forced = after.Status
	}
	req := firewallRequest{after.Name, after.InboundRules, after.OutboundRules, after.DropletIDs, after.Tags}
	normaliseRules(req.InboundRules, req.OutboundRules)
	config := req.config()
	config.ID, config.CreatedAt = id, after.CreatedAt
	config.PendingChanges = append(config.PendingChanges, after.PendingChanges...)
	f.Firewall = config.clone()
	return nil
}

// DeleteFirewall removes a firewall at once. The error wraps ErrNotFound.
func (s *Simulator) DeleteFirewall(id string) error {
	s.lock()
	defer s.mu.Unlock()
	t, _, err := s.teamOfFirewall(id)
	if err != nil {
		return err
	}
	t.firewalls.remove(id)
	return nil
}

func (s *Simulator) teamOfFirewall(id string) (*team, *firewall, error) {
	for _, name := range s.teamOrder {
		if f, ok := s.teams[name].firewalls.get(id); ok {
			return s.teams[name], f, nil
		}
	}
	return nil, nil, fmt.Errorf("firewall %s: %w", id, ErrNotFound)
}
