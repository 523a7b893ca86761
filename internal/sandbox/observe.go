package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observe shows what happens, until it is time to end.
func (s *session) observe(ctx context.Context) error {
	sights, stop, err := watchCluster(ctx, s.client)
	if err != nil {
		return err
	}
	defer stop()
	g := s.goal()
	timeout := time.NewTimer(s.o.Timeout)
	defer timeout.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.interrupted(ctx, g)
		case <-s.manager.Done():
			if ctx.Err() != nil { // it was stopped because the context ended
				return s.interrupted(ctx, g)
			}
			return s.withLog(&ManagerError{Cause: s.manager.Wait()})
		case <-timeout.C:
			if !g.reached() {
				return s.withLog(&TimeoutError{After: s.o.Timeout, Missing: g.missing()})
			}
		case seen := <-sights:
			if done, err := s.advance(ctx, g, seen); done || err != nil {
				return err
			}
		}
	}
}

// advance tells what was seen and does what comes next. done: there is nothing
// left to stay for.
func (s *session) advance(ctx context.Context, g *goal, seen sight) (done bool, err error) {
	waiting := len(g.pending)
	if g.note(seen) {
		s.print.sight(seen)
	}
	if len(g.pending) == waiting {
		return false, nil
	}
	switch len(g.pending) {
	case 1:
		// The Nodes are there. As in a cluster's life, the Service comes after
		// them, and so finds something to send to.
		return false, s.applyService(ctx)
	case 0:
		s.up()
		return s.o.Exit, nil
	}
	return false, nil
}

func (s *session) goal() *goal {
	keys := []string{serviceKey(metav1.NamespaceDefault, exampleService)}
	for _, name := range s.nodes {
		keys = append(keys, nodeKey(name))
	}
	return newGoal(keys...)
}

// interrupted is how a person usually ends a sandbox: no failure, if everything
// was up by then.
func (s *session) interrupted(ctx context.Context, g *goal) error {
	if g.reached() {
		return nil
	}
	return fmt.Errorf("ended before everything was up (%s): %w", g.missing(), context.Cause(ctx))
}

// withLog adds the end of the manager's log, which won't be there to be looked
// at.
func (s *session) withLog(err error) error {
	return fmt.Errorf("%w\nthe end of the manager's log:%s", err, cmp.Or(logTail(s.log), " it is empty"))
}

// up tells that everything is.
func (s *session) up() {
	s.print.step("everything is up; the manager made %d API calls", len(s.cloud.Requests()))
	if !s.o.Exit {
		s.print.text(s.help())
	}
}
