package simulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	shownRequests = 100
	shownBudgets  = 4
	plotMinutes   = 60
)

// traffic is what was asked of the API on behalf of a team. Requests are the
// newest first, without bodies.
type traffic struct {
	Budgets  []budget     `json:"budgets"`
	Minutes  []minuteLoad `json:"minutes"` // the last is the minute that it is
	Requests []Request    `json:"requests"`
	// Logged counts all requests in the log, of all teams.
	Logged int `json:"logged"`
}

// budget is how much of its quota a token has used. A limit of 0 is none.
type budget struct {
	Token        string `json:"token"` // its end
	Limit        int    `json:"limit"`
	Used         int    `json:"used"`
	MinuteLimit  int    `json:"minute_limit"`
	UsedInMinute int    `json:"used_in_minute"`
	// Frees is when the oldest request leaves the hour.
	Frees time.Time `json:"frees,omitzero"`
}

// minuteLoad counts the requests of a minute.
type minuteLoad struct {
	Calls  int `json:"calls"`
	Failed int `json:"failed"` // of these, answered with 400 or above
}

func (s *Simulator) traffic(q overviewQuery, team string, now time.Time) traffic {
	return traffic{
		Budgets:  s.budgets(team, now),
		Minutes:  s.log.byMinute(team, now),
		Requests: s.log.newest(q, team),
		Logged:   len(s.log.entries),
	}
}

// budgets shows a team's tokens, the busiest first.
func (s *Simulator) budgets(team string, now time.Time) []budget {
	found := []budget{}
	for token, window := range s.limits {
		if s.teamOfToken(token) != team {
			continue
		}
		b := budget{
			Token: tail(token), Limit: s.settings.RateLimitPerHour, MinuteLimit: s.settings.RateLimitPerMinute,
			UsedInMinute: len(window.times.since(now.Add(-time.Minute))),
		}
		if hour := window.times.since(now.Add(-time.Hour)); len(hour) > 0 {
			b.Used, b.Frees = len(hour), hour[0].Add(time.Hour)
		}
		found = append(found, b)
	}
	slices.SortFunc(found, func(a, b budget) int {
		return cmp.Or(b.Used-a.Used, strings.Compare(a.Token, b.Token))
	})
	return found[:min(len(found), shownBudgets)]
}

// teamOfToken also knows the team of a token that is refused for a while.
func (s *Simulator) teamOfToken(token string) string {
	if len(s.tokens) == 0 {
		return defaultTeam
	}
	return s.tokens[token].team
}

// byMinute counts the last hour's requests by minutes of the clock.
func (l *requestLog) byMinute(team string, now time.Time) []minuteLoad {
	minutes := make([]minuteLoad, plotMinutes)
	first := now.Truncate(time.Minute).Add(-(plotMinutes - 1) * time.Minute)
	for _, r := range slices.Backward(l.entries) {
		if r.Time.Before(first) {
			break
		}
		i := int(r.Time.Sub(first) / time.Minute)
		if !r.concerns(team) || i >= plotMinutes {
			continue
		}
		minutes[i].Calls++
		if r.Status >= http.StatusBadRequest {
			minutes[i].Failed++
		}
	}
	return minutes
}

// concerns also shows every team the requests of unknown tokens.
func (r *Request) concerns(team string) bool { return r.Team == team || r.Team == "" }

// newest returns the newest requests that the query asks for, without bodies.
func (l *requestLog) newest(q overviewQuery, team string) []Request {
	text := strings.ToLower(strings.TrimSpace(q.logText))
	found := []Request{}
	for _, r := range slices.Backward(l.entries) {
		if len(found) == shownRequests {
			break
		}
		if !r.concerns(team) || !r.isOfKind(q.logKind) || text != "" && !containsText(r.words(), text) {
			continue
		}
		shown := *r
		shown.Body = json.RawMessage(nil)
		found = append(found, shown)
	}
	return found
}

func (r *Request) isOfKind(kind string) bool {
	switch kind {
	case "writes":
		return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
	case "failed":
		return r.Status >= http.StatusBadRequest
	}
	return true
}

func (r *Request) words() []string {
	return []string{r.Method + " " + r.Path + "?" + r.Query, strconv.Itoa(r.Status), r.UserAgent, r.RequestID}
}
