package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Settings are the knobs that can be turned while the simulator runs. Their
// meaning is told at the options of the same name.
type Settings struct {
	LoadBalancerActivation  time.Duration
	DropletActivation       time.Duration
	PublicAddressDelay      time.Duration
	ActionDuration          time.Duration
	BusyWindow              time.Duration
	FirewallActivation      time.Duration
	CertificateVerification time.Duration
	CertificateRelease      time.Duration
	ResizeInterval          time.Duration
	Latency                 time.Duration
	RateLimitPerHour        int
	RateLimitPerMinute      int
	// ListLag maps the path of a list, or "*" for all others, to its lag.
	ListLag map[string]time.Duration
	// RejectTokens answers every token with 401.
	RejectTokens         bool
	HideLoadBalancerTags bool
	RefuseZeroPorts      bool
	// AccountStatus is active, warning or locked; a locked account only reads.
	AccountStatus string
	// Limits are how many objects of a kind a team may have.
	Limits Limits
	// ActivationReads is how often what is on its way has to be read, by its id
	// or in a list, until it has arrived.
	ActivationReads int
	// MetadataDroplet is the id of the droplet whose metadata is served; 0: see
	// WithMetadataDroplet.
	MetadataDroplet int
}

func defaultSettings() Settings {
	return Settings{
		ResizeInterval:     time.Minute,
		RateLimitPerHour:   defaultPerHour,
		RateLimitPerMinute: defaultPerMinute,
		AccountStatus:      accountActive,
		Limits:             defaultLimits(),
	}
}

// SettingsPatch changes the settings whose members are not nil. In JSON,
// durations are strings like "1m30s".
type SettingsPatch struct {
	// ListLag changes the lists that it names; a lag of 0 removes the entry.
	ListLag                 map[string]Duration `json:"list_lag,omitempty"`
	LoadBalancerActivation  *Duration           `json:"load_balancer_activation,omitempty"`
	DropletActivation       *Duration           `json:"droplet_activation,omitempty"`
	PublicAddressDelay      *Duration           `json:"public_address_delay,omitempty"`
	ActionDuration          *Duration           `json:"action_duration,omitempty"`
	BusyWindow              *Duration           `json:"busy_window,omitempty"`
	CertificateVerification *Duration           `json:"certificate_verification,omitempty"`
	FirewallActivation      *Duration           `json:"firewall_activation,omitempty"`
	CertificateRelease      *Duration           `json:"certificate_release,omitempty"`
	ResizeInterval          *Duration           `json:"resize_interval,omitempty"`
	Latency                 *Duration           `json:"latency,omitempty"`
	RateLimitPerHour        *int                `json:"rate_limit_per_hour,omitempty"`
	RateLimitPerMinute      *int                `json:"rate_limit_per_minute,omitempty"`
	RejectTokens            *bool               `json:"reject_tokens,omitempty"`
	HideLoadBalancerTags    *bool               `json:"hide_load_balancer_tags,omitempty"`
	RefuseZeroPorts         *bool               `json:"refuse_zero_ports,omitempty"`
	AccountStatus           *string             `json:"account_status,omitempty"`
	Limits                  *LimitsPatch        `json:"limits,omitempty"`
	ActivationReads         *int                `json:"activation_reads,omitempty"`
	MetadataDroplet         *int                `json:"metadata_droplet,omitempty"`
}

// Duration is a time.Duration that is written in JSON as "1m30s".
type Duration time.Duration

// MarshalJSON writes the duration as time.Duration prints it.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads what time.ParseDuration reads.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return errors.New(`a duration has to be a string like "1m30s"`)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("parse duration: %w", err)
	}
	if parsed < 0 {
		return fmt.Errorf("duration %s is negative", text)
	}
	*d = Duration(parsed)
	return nil
}

// Settings returns the settings as they are now.
func (s *Simulator) Settings() Settings {
	s.lock()
	defer s.mu.Unlock()
	return s.settings
}

// ChangeSettings applies a patch. What has its time already (a load balancer on
// its way to active) keeps it. It panics when ListLag names no list that can
// lag, AccountStatus no status, or ActivationReads is negative.
func (s *Simulator) ChangeSettings(p SettingsPatch) {
	if err := p.validate(); err != nil {
		panic(err)
	}
	s.lock()
	defer s.mu.Unlock()
	s.settings.patch(p)
	s.lagChanged()
}

func (p SettingsPatch) validate() error {
	if p.AccountStatus != nil {
		if err := validateAccountStatus(*p.AccountStatus); err != nil {
			return err
		}
	}
	for name, n := range map[string]*int{
		"activation_reads": p.ActivationReads, "rate_limit_per_hour": p.RateLimitPerHour, "rate_limit_per_minute": p.RateLimitPerMinute,
	} {
		if n != nil && *n < 0 {
			return fmt.Errorf("%s must not be negative", name)
		}
	}
	return firstError(p.Limits.validate(), validateListLag(p.ListLag))
}

func (c *Settings) patch(p SettingsPatch) {
	c.patchListLag(p.ListLag)
	setDuration(&c.LoadBalancerActivation, p.LoadBalancerActivation)
	setDuration(&c.DropletActivation, p.DropletActivation)
	setDuration(&c.PublicAddressDelay, p.PublicAddressDelay)
	setDuration(&c.ActionDuration, p.ActionDuration)
	setDuration(&c.BusyWindow, p.BusyWindow)
	setDuration(&c.FirewallActivation, p.FirewallActivation)
	setDuration(&c.CertificateVerification, p.CertificateVerification)
	setDuration(&c.CertificateRelease, p.CertificateRelease)
	setDuration(&c.ResizeInterval, p.ResizeInterval)
	setDuration(&c.Latency, p.Latency)
	set(&c.RateLimitPerHour, p.RateLimitPerHour)
	set(&c.RateLimitPerMinute, p.RateLimitPerMinute)
	set(&c.RejectTokens, p.RejectTokens)
	set(&c.HideLoadBalancerTags, p.HideLoadBalancerTags)
	set(&c.RefuseZeroPorts, p.RefuseZeroPorts)
	set(&c.AccountStatus, p.AccountStatus)
	c.Limits.patch(p.Limits)
	set(&c.ActivationReads, p.ActivationReads)
	set(&c.MetadataDroplet, p.MetadataDroplet)
}

// patchListLag makes a new map, for copies of the settings share the old one.
func (c *Settings) patchListLag(patch map[string]Duration) {
	if len(patch) == 0 {
		return
	}
	lags := map[string]time.Duration{}
	maps.Copy(lags, c.ListLag)
	for path, lag := range patch {
		lags[path] = time.Duration(lag)
		if lag == 0 {
			delete(lags, path)
		}
	}
	c.ListLag = lags
}

// RejectTokens makes every token answer 401, or ends that.
func (s *Simulator) RejectTokens(reject bool) {
	s.ChangeSettings(SettingsPatch{RejectTokens: &reject})
}

// set overwrites dst with what v points to, if anything.
func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func setDuration(dst *time.Duration, v *Duration) {
	if v != nil {
		*dst = time.Duration(*v)
	}
}

// asPatch shows the settings in the form in which they are changed.
func (c Settings) asPatch() SettingsPatch {
	duration := func(d time.Duration) *Duration { return new(Duration(d)) }
	lags := map[string]Duration{}
	for path, lag := range c.ListLag {
		lags[path] = Duration(lag)
	}
	return SettingsPatch{
		ListLag:                 lags,
		LoadBalancerActivation:  duration(c.LoadBalancerActivation),
		DropletActivation:       duration(c.DropletActivation),
		PublicAddressDelay:      duration(c.PublicAddressDelay),
		ActionDuration:          duration(c.ActionDuration),
		BusyWindow:              duration(c.BusyWindow),
		CertificateVerification: duration(c.CertificateVerification),
		FirewallActivation:      duration(c.FirewallActivation),
		CertificateRelease:      duration(c.CertificateRelease),
		ResizeInterval:          duration(c.ResizeInterval),
		Latency:                 duration(c.Latency),
		RateLimitPerHour:        &c.RateLimitPerHour,
		RateLimitPerMinute:      &c.RateLimitPerMinute,
		RejectTokens:            &c.RejectTokens,
		HideLoadBalancerTags:    &c.HideLoadBalancerTags,
		RefuseZeroPorts:         &c.RefuseZeroPorts,
		AccountStatus:           &c.AccountStatus,
		Limits:                  c.Limits.asPatch(),
		ActivationReads:         &c.ActivationReads,
		MetadataDroplet:         &c.MetadataDroplet,
	}
}

var (
	_ json.Marshaler   = Duration(0)
	_ json.Unmarshaler = (*Duration)(nil)
)
