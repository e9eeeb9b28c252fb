// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// TestScripts runs the scripts of testdata/scripts. Their commands:
//
//	machine [seed=N] [min=D] [max=D] [heartbeat=D] [stall=D] [backoff=F] [limit=F] [broadcast=F] [bound=D]
//	become role=R | start timer=T | reset | stop timer=T | stop-all
//	contact [at=D] | broadcast D | advance D | advance-to-next | clock D | stalled D
//	expect                  the deadline, the timers, the role
//
// advance and clock move the time by D; clock, unlike advance, only the next
// command tells the machine.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := script{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	t       *testing.T
	machine *rafttimer.Machine
	now     time.Duration
	last    []rafttimer.Event
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "machine" {
		s.create(d)
		return ""
	}
	if f, ok := s.commands()[d.Cmd]; ok {
		return f(d)
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func (s *script) commands() map[string]func(*datadriven.TestData) string {
	return map[string]func(*datadriven.TestData) string{
		"become":    s.become,
		"start":     s.start,
		"stop":      s.stop,
		"reset":     func(*datadriven.TestData) string { return said(s.machine.ResetElectionTimeout(s.now)) },
		"stop-all":  func(*datadriven.TestData) string { s.machine.StopAll(); return "" },
		"contact":   s.contact,
		"broadcast": s.broadcast,
		"clock":     func(d *datadriven.TestData) string { s.now += s.duration(d); return "" },
		"advance":   func(d *datadriven.TestData) string { s.now += s.duration(d); return s.advance() },
		"advance-to-next": func(*datadriven.TestData) string {
			s.now, _ = s.machine.NextDeadline()
			return s.advance()
		},
		"stalled": func(d *datadriven.TestData) string {
			return s.events(s.machine.NoteStall(nil, s.now, s.duration(d)))
		},
		"current": s.current,
		"expect":  s.expect,
	}
}

func (s *script) create(d *datadriven.TestData) {
	var seed uint64
	var c rafttimer.Config
	d.MaybeScanArgs(s.t, "seed", &seed)
	for key, field := range map[string]*time.Duration{
		"min": &c.ElectionTimeoutMin, "max": &c.ElectionTimeoutMax, "heartbeat": &c.HeartbeatInterval,
		"stall": &c.StallThreshold, "bound": &c.BroadcastLimit,
	} {
		var text string
		if d.MaybeScanArgs(s.t, key, &text) {
			*field = s.parse(d, text)
		}
	}
	for key, field := range map[string]*float64{"backoff": &c.BackoffFactor, "limit": &c.BackoffLimit, "broadcast": &c.BroadcastFactor} {
		var text string
		if d.MaybeScanArgs(s.t, key, &text) {
			if _, err := fmt.Sscan(text, field); err != nil {
				d.Fatalf(s.t, "%v", err)
			}
		}
	}
	s.machine, s.now, s.last = newMachine(s.t, c, seed), 0, nil
}

func (s *script) parse(d *datadriven.TestData, text string) time.Duration {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	return parsed
}

func (s *script) duration(d *datadriven.TestData) time.Duration {
	return s.parse(d, d.CmdArgs[0].Key)
}

func (s *script) become(d *datadriven.TestData) string {
	roles := map[string]func(time.Duration){
		"follower": s.machine.BecomeFollower, "candidate": s.machine.BecomeCandidate, "leader": s.machine.BecomeLeader,
	}
	roles[d.CmdArgs[0].Key](s.now)
	return ""
}

func (s *script) start(d *datadriven.TestData) string {
	if d.CmdArgs[0].Key == "election" {
		return said(s.machine.StartElectionTimeout(s.now))
	}
	return said(s.machine.StartHeartbeat(s.now))
}

func (s *script) stop(d *datadriven.TestData) string {
	if d.CmdArgs[0].Key == "election" {
		return said(s.machine.StopElectionTimeout())
	}
	return said(s.machine.StopHeartbeat())
}

func (s *script) contact(d *datadriven.TestData) string {
	at := s.now
	if len(d.CmdArgs) > 0 {
		at = s.duration(d)
	}
	s.machine.Contact(at)
	return ""
}

func (s *script) broadcast(d *datadriven.TestData) string {
	s.machine.ObserveBroadcast(s.duration(d))
	return fmt.Sprintf("estimate %v\n", s.machine.BroadcastTime())
}

func (s *script) advance() string { return s.events(s.machine.Advance(nil, s.now)) }

func (s *script) events(events []rafttimer.Event) string {
	s.last = events
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%v [role changes %d generation %d failed %d]\n", e, e.RoleChanges, e.Generation, e.Failed)
	}
	return b.String()
}

func (s *script) current(*datadriven.TestData) string {
	var b strings.Builder
	for _, e := range s.last {
		fmt.Fprintf(&b, "%v: %v\n", e.Kind, s.machine.IsCurrent(e))
	}
	return b.String()
}

func (s *script) expect(*datadriven.TestData) string {
	line := fmt.Sprintf("at %v a %v, %v", s.now, s.machine.Role(), s.machine.State())
	if deadline, ok := s.machine.NextDeadline(); ok {
		return fmt.Sprintf("%s, next in %v\n", line, deadline-s.now)
	}
	return line + ", no deadline\n"
}

func said(err error) string {
	if err == nil {
		return ""
	}
	if !errors.Is(err, rafttimer.ErrRole) {
		return fmt.Sprintf("not an ErrRole: %v\n", err)
	}
	return err.Error() + "\n"
}
