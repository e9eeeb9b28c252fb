// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/examples/internal/process"
	"github.com/kazahana-db/kazahana/kv"
)

// show is one run of the program.
type show struct {
	out     io.Writer
	db      kv.Database
	place   place
	events  chan process.Event
	workers map[string]*process.Process
	leader  *process.Process
	since   time.Time        // when something befell the leader
	refused *process.Process // who was refused last, since then
}

func newShow(out io.Writer, db kv.Database, p place) *show {
	return &show{out: out, db: db, place: p, events: make(chan process.Event), workers: map[string]*process.Process{}}
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
	if process.CanPause {
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
		s.say("%s leads after %v.", s.leader.Name, took)
	}
	return err
}

func (s *show) start(name string) (err error) {
	s.workers[name], err = process.Start(name, []string{workerVariable + "=" + name, s.place.variable + "=" + s.place.value}, s.events)
	return err
}

// kill kills the leader, and starts another process in its place once there is a leader.
func (s *show) kill(ctx context.Context) error {
	if err := s.awaitWrites(ctx); err != nil {
		return err
	}
	killed := s.befall()
	if err := killed.Kill(); err != nil {
		return err
	}
	took, err := s.awaitLeader(ctx)
	if err != nil {
		return err
	}
	s.say("kill -9 of %s: %s leads after %v; at most %v and a transaction.", killed.Name, s.leader.Name, took, duration+electionTimeout)
	return s.start(killed.Name)
}

// resign has the leader resign.
func (s *show) resign(ctx context.Context) error {
	if err := s.awaitWrites(ctx); err != nil {
		return err
	}
	resigned := s.befall()
	if err := resigned.Tell("resign"); err != nil {
		return err
	}
	took, err := s.awaitLeader(ctx)
	if err == nil {
		s.say("%s resigns: %s leads after %v; a watch tells it.", resigned.Name, s.leader.Name, took)
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
	if err := paused.Pause(); err != nil {
		return err
	}
	took, err := s.awaitLeader(ctx)
	if err != nil {
		return err
	}
	s.say("SIGSTOP of %s: %s leads after %v.", paused.Name, s.leader.Name, took)
	if err := s.awaitWrites(ctx); err != nil {
		return err
	}
	late := s.refused == paused // it had lost its office before it stood still: the next leader is suspended
	if err := paused.Resume(); err != nil {
		return err
	}
	if late {
		return s.pause(ctx)
	}
	refused, err := s.await(ctx, paused, "refused")
	if err == nil {
		s.say("SIGCONT of %s: it goes on writing, and is refused: %s", paused.Name, refused.Details)
	}
	return err
}

// befall notes that something befalls the leader now, and returns it.
func (s *show) befall() *process.Process {
	s.since, s.refused = time.Now(), nil
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
		if e.From != before {
			s.leader = e.From
			return e.At.Sub(s.since).Round(time.Millisecond), nil
		}
	}
}

// awaitWrites waits until the leader has written a few times, even if that is another process by then:
// on a busy machine a leader may be late and lose its office without a fault.
func (s *show) awaitWrites(ctx context.Context) error {
	for writes := 0; writes < 10; {
		e, err := s.next(ctx, "write")
		switch {
		case err != nil:
			return err
		case e.What == "leads":
			s.leader, writes = e.From, 0
		case e.What == "wrote" && e.From == s.leader:
			writes++
		}
	}
	return nil
}

// await waits until a worker, or any, tells something.
func (s *show) await(ctx context.Context, from *process.Process, what string) (process.Event, error) {
	for {
		e, err := s.next(ctx, what)
		if err != nil || e.What == what && (from == nil || e.From == from) {
			return e, err
		}
	}
}

// next returns the next event. The error names what it was waited for.
func (s *show) next(ctx context.Context, what string) (process.Event, error) {
	select {
	case e := <-s.events:
		if e.What == "refused" {
			s.refused = e.From
		}
		return e, nil
	case <-ctx.Done():
		return process.Event{}, fmt.Errorf("no worker told %q: %w", what, context.Cause(ctx))
	}
}

// end ends all workers and waits for them.
func (s *show) end() {
	for _, w := range s.workers {
		w.End()
	}
	for _, w := range s.workers {
		w.Await(s.events, 10*duration)
	}
}
