package simulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	featureBackups = "backups"
	featureIPv6    = "ipv6"
	backupDaily    = "daily"
	backupWeekly   = "weekly"
	// backupWindow is how long a backup may take.
	backupWindow = 4 * time.Hour
)

// BackupPolicy is when a droplet's backups are made: daily, or weekly on a
// Weekday, SUN to SAT; Hour is in UTC.
type BackupPolicy struct {
	Plan                string `json:"plan"`
	Weekday             string `json:"weekday,omitempty"`
	Hour                int    `json:"hour"`
	WindowLengthHours   int    `json:"window_length_hours,omitempty"`
	RetentionPeriodDays int    `json:"retention_period_days,omitempty"`
}

var weekdays = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

func (p *BackupPolicy) clone() *BackupPolicy {
	if p == nil {
		return nil
	}
	return &BackupPolicy{Plan: p.Plan, Weekday: p.Weekday, Hour: p.Hour}
}

// validate refuses a policy that cannot be followed; none is right.
func (p *BackupPolicy) validate() error {
	switch {
	case p == nil:
		return nil
	case p.Hour < 0 || p.Hour > 20 || p.Hour%4 != 0:
		return unprocessable("backup_policy hour must be one of 0, 4, 8, 12, 16, 20")
	case p.Plan == backupDaily && p.Weekday != "":
		return unprocessable("backup_policy weekday requires the weekly plan")
	case p.Plan == backupWeekly && !slices.Contains(weekdays, p.Weekday):
		return unprocessable("backup_policy weekday must be one of %s", strings.Join(weekdays, ", "))
	}
	return oneOf("backup_policy plan", p.Plan, backupDaily, backupWeekly)
}

// next is the first window after now, nil without a policy.
func (p *BackupPolicy) next(now time.Time) *BackupWindow {
	if p == nil {
		return nil
	}
	start := time.Date(now.Year(), now.Month(), now.Day(), p.Hour, 0, 0, 0, time.UTC)
	for !start.After(now) || p.Plan == backupWeekly && weekdays[start.Weekday()] != p.Weekday {
		start = start.AddDate(0, 0, 1)
	}
	return &BackupWindow{Start: start, End: start.Add(backupWindow)}
}

func (p *BackupPolicy) show() *BackupPolicy {
	v := p.clone()
	v.WindowLengthHours = int(backupWindow.Hours())
	v.RetentionPeriodDays = 7
	if v.Plan == backupWeekly {
		v.RetentionPeriodDays = 28
	}
	return v
}

func getBackupPolicy(c *call) (reply, error) {
	d, err := c.droplet()
	if err != nil {
		return reply{}, err
	}
	record := map[string]any{"droplet_id": d.ID, "backup_enabled": d.backup != nil}
	if d.backup != nil {
		record["backup_policy"], record["next_backup_window"] = d.backup.show(), d.backup.next(c.now)
	}
	return jsonReply(http.StatusOK, map[string]any{"policy": record})
}

// planFeature checks an action that turns a feature on or off.
func planFeature(d *droplet, req actionRequest) error {
	switch {
	case req.Type == "enable_ipv6" && slices.Contains(d.Features, featureIPv6):
		return unprocessable("This Droplet already has IPv6 enabled.")
	case req.Type == "enable_backups" && d.backup != nil:
		return unprocessable("This Droplet already has backups enabled.")
	case (req.Type == "disable_backups" || req.Type == "change_backup_policy") && d.backup == nil:
		return unprocessable("This Droplet does not have backups enabled.")
	case req.Type == "change_backup_policy" && req.BackupPolicy == nil:
		return unprocessable("backup_policy is required")
	}
	return req.BackupPolicy.validate()
}

func (d *droplet) setBackups(req actionRequest) {
	d.backup = req.BackupPolicy.clone()
	if req.Type == "enable_backups" && d.backup == nil {
		d.backup = &BackupPolicy{Plan: backupDaily}
	}
	d.setFeature(featureBackups, d.backup != nil)
}
