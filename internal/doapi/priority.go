package doapi

import (
	"context"
	"errors"
	"time"
)

// Priority says how much of a scarce quota a call may use.
type Priority int

// Priorities, from the one that gives way first. A context without one counts
// as Normal.
const (
	// Background is for what can wait: drift, refreshes, tags.
	Background Priority = iota
	// Normal is for updates.
	Normal
	// Urgent is for what somebody waits for: a create, a delete, the status of
	// a Service being made.
	Urgent
)

const priorities = int(Urgent) + 1

// String gives the priority's name as used in metrics and logs.
func (p Priority) String() string {
	switch p {
	case Background:
		return "background"
	case Urgent:
		return "urgent"
	default:
		return "normal"
	}
}

type priorityKey struct{}

// WithPriority marks the calls made with the returned context.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, min(max(p, Background), Urgent))
}

// PriorityOf returns the priority of calls made with the context.
func PriorityOf(ctx context.Context) Priority {
	if p, ok := ctx.Value(priorityKey{}).(Priority); ok {
		return p
	}
	return Normal
}

type impatienceKey struct{}

// WithoutWaiting has calls made with the returned context refused at once, with
// a [ThrottledError], where they would have to wait for the quota.
func WithoutWaiting(ctx context.Context) context.Context {
	return context.WithValue(ctx, impatienceKey{}, true)
}

func waits(ctx context.Context) bool { return ctx.Value(impatienceKey{}) == nil }

// ErrThrottled is what every [ThrottledError] is.
var ErrThrottled = errors.New("quota of the DigitalOcean API is used up")

// ThrottledError reports a call that was not sent, because the quota would not
// have allowed it within its context's deadline.
type ThrottledError struct {
	// Priority of the call.
	Priority Priority
	// Until is the earliest time at which trying again makes sense.
	Until time.Time
}

// Error implements error.
func (e *ThrottledError) Error() string {
	return "quota of the DigitalOcean API is used up for " + e.Priority.String() +
		" calls until " + e.Until.UTC().Format(time.RFC3339)
}

// Is makes every ThrottledError an [ErrThrottled].
func (e *ThrottledError) Is(target error) bool { return target == ErrThrottled }
