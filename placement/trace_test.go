// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestTraces plays scripts of calls and compares all that the coordinator returns
// with what is written below each call: commands, answers and events, in
// order. Each script is played on two coordinators, which must return the same, byte
// for byte. "go test -run TestTraces -rewrite" writes the traces anew.
func TestTraces(t *testing.T) {
	datadriven.Walk(t, "testdata/traces", func(t *testing.T, path string) {
		first, second := &trace{T: t, now: start}, &trace{T: t, now: start}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			got, again := first.run(d), second.run(d)
			if got != again {
				t.Fatalf("%s: the same calls return\n%s\nand\n%s", d.Pos, got, again)
			}
			return got
		})
	})
}

// trace is a coordinator that a script drives.
type trace struct {
	*testing.T
	c   *Coordinator
	now time.Time
	b   strings.Builder
}

func (s *trace) run(d *datadriven.TestData) string {
	s.b.Reset()
	if wait := arg(d, "after"); wait != "" {
		s.now = s.now.Add(duration(s.T, wait))
	}
	run, known := map[string]func(*datadriven.TestData){
		"new": s.create, "start": s.start, "topology": s.topology, "left": s.left, "resolve": s.resolve, "abandon": s.abandon,
		"acquired": s.acquired, "denied": s.denied, "loaded": s.loaded, "ensured": s.ensured, "stored": s.stored,
		"released": s.released, "deactivated": s.deactivated, "removed": s.removed,
		"tick": s.tick, "idle": s.idle, "use": s.use, "stop": s.stop, "lose": s.lose, "learn": s.learn, "forget": s.forget, "held": s.held,
	}[d.Cmd]
	if !known {
		d.Fatalf(s.T, "there is no %q", d.Cmd)
	}
	run(d)
	return s.b.String()
}

func (s *trace) print(out Outcome, err error) {
	line := func(format string, args ...any) { fmt.Fprintf(&s.b, format+"\n", args...) }
	if err != nil {
		line("error: %v", err)
	}
	if out.Resolution != nil {
		line("resolution: %s", resolutionText(*out.Resolution))
	}
	if out.Request != 0 {
		line("waits for %d", out.Request)
	}
	for _, cmd := range out.Commands {
		line("command: %s", commandText(cmd))
	}
	for _, a := range out.Answers {
		if a.Err != nil {
			line("answer to %d: %v", a.Request, a.Err)
		} else {
			line("answer to %d: %s", a.Request, resolutionText(a.Resolution))
		}
	}
	for _, e := range out.Events {
		line("event: %s at %v%s", e.Kind, e.ObservedAt.Sub(start), eventText(e))
	}
	for _, e := range out.CacheEvents {
		line("cache: %s at %v %s is at %s epoch %d (%s)", e.Kind, e.ObservedAt.Sub(start), e.Key, e.Holder.Owner, e.Holder.Epoch, e.Reason)
	}
}

func resolutionText(r Resolution) string {
	d := r.Decision
	return fmt.Sprintf("%s %s at %q epoch %d pid %q; %s belongs to %s at %q by topology %d, %s",
		r.Locality, r.Owner, r.Address, r.Epoch, r.PID, d.Key, d.Authority, d.Address, d.Topology, d.Strategy)
}

func eventText(e Event) string {
	text := fmt.Sprintf(" topology %d", e.Topology)
	if e.Key != (Key{}) {
		text += " " + e.Key.String()
	}
	if !e.Owner.IsZero() {
		text += " owner " + e.Owner.String()
	}
	if e.Epoch != 0 {
		text += fmt.Sprintf(" epoch %d", e.Epoch)
	}
	if e.Request != 0 {
		text += fmt.Sprintf(" request %d", e.Request)
	}
	if e.PID != "" {
		text += fmt.Sprintf(" pid %q", e.PID)
	}
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text
}

// commandText returns all of a command, with its type.
func commandText(cmd Command) string {
	id, key := cmd.Correlation()
	text := fmt.Sprintf("%s %d %s", reflect.TypeOf(cmd).Name(), id, key)
	switch cmd := cmd.(type) {
	case TryAcquire:
		text += fmt.Sprintf(" for %s at %q by topology %d at %v", cmd.Owner, cmd.Address, cmd.Topology, cmd.Now.Sub(start))
	case LoadActivation:
		text += fmt.Sprintf(" epoch %d", cmd.Epoch)
	case EnsureActivation:
		text += fmt.Sprintf(" for %s epoch %d", cmd.Owner, cmd.Epoch)
		if cmd.Previous != nil {
			text += fmt.Sprintf(" after %q version %d", cmd.Previous.Snapshot, cmd.Previous.Version)
		}
	case StoreActivation:
		e := cmd.Entry
		text += fmt.Sprintf(" lease %d: %s at %q epoch %d by topology %d pid %q at %v", cmd.Lease.Epoch, e.Owner, e.Address, e.Epoch, e.Topology, e.Record.PID, e.ObservedAt.Sub(start))
	case Release:
		text += fmt.Sprintf(" lease %d of request %d", cmd.Lease.Epoch, cmd.Lease.Request)
	case Deactivate:
		text += fmt.Sprintf(" epoch %d: %s", cmd.Epoch, cmd.Cause)
		if !cmd.IdleSince.IsZero() {
			text += fmt.Sprintf(" since %v", cmd.IdleSince.Sub(start))
		}
	case RemoveActivation:
		text += fmt.Sprintf(" of %s epoch %d", cmd.Owner, cmd.Epoch)
	}
	return text
}
