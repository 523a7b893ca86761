package simulator

import (
	"fmt"
	"net/http"
	"slices"
)

// The states of an account.
const (
	accountActive  = "active"
	accountWarning = "warning"
	accountLocked  = "locked"
)

// Account is what a token's team and user may do and are.
type Account struct {
	DropletLimit    int    `json:"droplet_limit"`
	FloatingIPLimit int    `json:"floating_ip_limit"`
	ReservedIPLimit int    `json:"reserved_ip_limit"`
	VolumeLimit     int    `json:"volume_limit"`
	Email           string `json:"email"`
	Name            string `json:"name"`
	UUID            string `json:"uuid"`
	EmailVerified   bool   `json:"email_verified"`
	Status          string `json:"status"`
	StatusMessage   string `json:"status_message"`
	Team            Team   `json:"team"`
}

// Team names a team.
type Team struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

func validateAccountStatus(status string) error {
	if !slices.Contains([]string{accountActive, accountWarning, accountLocked}, status) {
		return fmt.Errorf("account status %q is none of active, warning and locked", status)
	}
	return nil
}

func (t *team) account(settings Settings) Account {
	return Account{
		DropletLimit: settings.Limits.Droplets, FloatingIPLimit: settings.Limits.ReservedIPs,
		ReservedIPLimit: settings.Limits.ReservedIPs, VolumeLimit: settings.Limits.Volumes,
		Email: "owner@example.com", Name: "Owner", UUID: t.stableID("account"),
		EmailVerified: true, Status: settings.AccountStatus,
		Team: t.identity(),
	}
}

func (t *team) identity() Team { return Team{UUID: t.stableID("team"), Name: t.name} }

func addAccountRoutes(t *router) {
	t.add(http.MethodGet, "/v2/account", func(c *call) (reply, error) {
		return jsonReply(http.StatusOK, map[string]any{"account": c.team.account(c.s.settings)})
	})
}
