// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// show is one run of the program.
type show struct {
	out     io.Writer
	db      kv.Database
	place   place
	events  chan event
	workers map[string]*process
	leader  *process
	since   time.Time // when something befell the leader
}

func newShow(out io.Writer, db kv.Database, p place) *show {
	return &show{out: out, db: db, place: p, events: make(chan event), workers: map[string]*process{}}
}

func (s *show) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// run has the leader fail in three ways, and looks at what all have written.
func (s *show) run(ctx context.Context) error {
	log, err := openLog(ctx, s.db)
	if err != nil {
		return err
	}
	s.say("Three processes elect a leader. A lease lasts %v, the election timeout is %v.\n", duration, electionTimeout)
	steps := []func(context.Context) error{s.begin, s.kill, s.resign}
	if canPause {
		steps = append(steps, s.pause)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	all, err := log.all(ctx, s.db)
	if err != nil {
		return err
	}
	if err := checkOrder(all); err != nil {
		return err
	}
	s.say("\nThe log has %d entries. Their ranks only grow: no two terms interleave.", len(all))
	return nil
}

// begin starts the workers and waits for the first leader.
func (s *show) begin(ctx context.Context) error {
	s.since = time.Now()
	for _, name := range []string{"a", "b", "c"} {
		if err := s.start(name); err != nil {
			return err
		}
	}
	took, err := s.awaitLeader(ctx)
	if err == nil {
		s.say("%s leads after %v.", s.leader.name, took)
	}
	return err
}

func (s *show) start(name string) (err error) {
	s.workers[name], err = startProcess(name, s.place, s.events)
	return err
}

// kill kills the leader, and starts another process in its place once there is a leader.
func (s *show) kill(ctx context.Context) error {
	if err := s.awaitWrites(ctx); err != nil {
		return err
	}
	killed := s.befall()
	if err := killed.kill(); err != nil {
		return err
	}
	took, err := s.awaitLeader(ctx)
	if err != nil {
		return err
	}
	s.say("kill -9 of %s: %s leads after %v; at most %v and a transaction.", killed.name, s.leader.name, took, duration+electionTimeout)
	return s.start(killed.name)
}

// resign has the leader resign.
func (s *show) resign(ctx context.Context) error {
	if err := s.awaitWrites(ctx); err != nil {
		return err
	}
	resigned := s.befall()
	if err := resigned.resign(); err != nil {
		return err
	}
	took, err := s.awaitLeader(ctx)
	if err == nil {
		s.say("%s resigns: %s leads after %v; a watch tells it.", resigned.name, s.leader.name, took)
	}
	return err
}

// pause suspends the leader until another has written, and waits for what it wants to write
// when it wakes up.
func (s *show) pause(ctx context.Context) error {
	if err := s.awaitWrites(ctx); err != nil {
		return err
	}
	paused := s.befall()
	if err := paused.pause(); err != nil {
		return err
	}
	took, err := s.awaitLeader(ctx)
	if err != nil {
		return err
	}
	s.say("SIGSTOP of %s: %s leads after %v.", paused.name, s.leader.name, took)
	if err := s.awaitWrites(ctx); err != nil {
		return err
	}
	if err := paused.resume(); err != nil {
		return err
	}
	refused, err := s.await(ctx, paused, "refused")
	if err == nil {
		s.say("SIGCONT of %s: it goes on writing, and is refused: %s", paused.name, refused.details)
	}
	return err
}

// befall notes that something befalls the leader now, and returns it.
func (s *show) befall() *process {
	s.since = time.Now()
	return s.leader
}

// awaitLeader waits until another worker leads.
func (s *show) awaitLeader(ctx context.Context) (took time.Duration, err error) {
	before := s.leader
	for {
		e, err := s.await(ctx, nil, "leads")
		if err != nil {
			return 0, err
		}
		if e.from != before {
			s.leader = e.from
			return e.at.Sub(s.since).Round(time.Millisecond), nil
		}
	}
}

// awaitWrites waits until the leader has written a few times, also if another process leads by then: on
// a busy machine a leader may be late and lose its office by itself.
func (s *show) awaitWrites(ctx context.Context) error {
	for writes := 0; writes < 10; {
		e, err := s.next(ctx, "write")
		switch {
		case err != nil:
			return err
		case e.what == "leads":
			s.leader, writes = e.from, 0
		case e.what == "wrote" && e.from == s.leader:
			writes++
		}
	}
	return nil
}

// await waits until a worker, or any, tells something.
func (s *show) await(ctx context.Context, from *process, what string) (event, error) {
	for {
		e, err := s.next(ctx, what)
		if err != nil || e.what == what && (from == nil || e.from == from) {
			return e, err
		}
	}
}

// next returns the next event. The error names what it was waited for.
func (s *show) next(ctx context.Context, what string) (event, error) {
	select {
	case e := <-s.events:
		return e, nil
	case <-ctx.Done():
		return event{}, fmt.Errorf("no worker told %q: %w", what, context.Cause(ctx))
	}
}

// end ends all workers and waits for them.
func (s *show) end() {
	for _, w := range s.workers {
		w.end()
	}
	for _, w := range s.workers {
		s.waitFor(w)
	}
}

// waitFor waits until a worker has ended; one that does not is killed.
func (s *show) waitFor(w *process) {
	late := time.After(10 * duration)
	for {
		select {
		case <-s.events: // or it could not tell them, and end
		case <-late:
			_ = w.kill()
			late = nil
		case <-w.ended:
			return
		}
	}
}
