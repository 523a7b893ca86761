package simulator

import (
	"net/http"
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

func (t *team) account() Account {
	return Account{
		DropletLimit: 25_000, FloatingIPLimit: 100, ReservedIPLimit: 100, VolumeLimit: 1000,
		Email: "owner@example.com", Name: "Owner", UUID: t.stableID("account"),
		EmailVerified: true, Status: "active",
		Team: Team{UUID: t.stableID("team"), Name: t.name},
	}
}

func addAccountRoutes(t *router) {
	t.add(http.MethodGet, "/v2/account", func(c *call) (reply, error) {
		return jsonReply(http.StatusOK, map[string]any{"account": c.team.account()})
	})
}
