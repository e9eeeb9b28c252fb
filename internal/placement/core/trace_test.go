// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/kazahana-db/kazahana/placement"
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

func eventText(e placement.Event) string {
	text := fmt.Sprintf(" topology %d", e.Topology)
	if e.Key != (placement.Key{}) {
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

// arg returns the value of an argument, empty if it is not there.
func arg(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return ""
}

func number(d *datadriven.TestData, name string) int64 {
	n, _ := strconv.ParseInt(arg(d, name), 10, 64)
	return n
}

func duration(t testing.TB, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ownerOf reads name#incarnation, or a name alone of incarnation 1.
func ownerOf(text string) placement.Owner {
	name, incarnation, found := strings.Cut(text, "#")
	n, _ := strconv.ParseInt(incarnation, 10, 64)
	if !found {
		n = 1
	}
	return placement.Owner{Name: name, Incarnation: n}
}

// keyArg reads the key of a call. It may be invalid.
func keyArg(d *datadriven.TestData) placement.Key {
	kind, id, _ := strings.Cut(arg(d, "key"), "/")
	return placement.Key{Kind: kind, ID: id}
}

func request(d *datadriven.TestData) placement.RequestID {
	return placement.RequestID(number(d, "request"))
}

// errArg returns the error that a call names, nil if it names none.
func errArg(d *datadriven.TestData) error {
	switch text := arg(d, "err"); text {
	case "":
		return nil
	case "held":
		o := arg(d, "holder")
		h := placement.Holder{Epoch: number(d, "epoch")}
		if o != "" {
			h.Owner = ownerOf(o)
			h.Address = h.Owner.Name + ":1"
		}
		return &LockError{Key: keyArg(d), Holder: h, Err: placement.ErrHeld}
	case "stale":
		return placement.ErrStale
	case "unavailable":
		return placement.ErrUnavailable
	default:
		return errors.New(text)
	}
}

func (s *trace) create(d *datadriven.TestData) {
	c, err := NewCoordinator(Options{Self: ownerOf(arg(d, "self")), Address: ownerOf(arg(d, "self")).Name + ":1", MovesPerTick: int(number(d, "moves")), CacheSize: int(number(d, "cache")), MaxWaiters: int(number(d, "waiters")), MaxRequests: int(number(d, "requests"))})
	if err != nil {
		s.Fatal(err)
	}
	s.c = c
}

func (s *trace) start(d *datadriven.TestData) {
	if d.HasArg("client") {
		s.print(s.c.StartClient(s.now))
		return
	}
	s.print(s.c.StartMember([]string{"k"}, s.now))
}

// topology has a member in each line: its owner, and perhaps the word draining.
func (s *trace) topology(d *datadriven.TestData) {
	t := placement.Topology{Version: number(d, "version")}
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		o := ownerOf(words[0])
		t.Members = append(t.Members, placement.Member{Owner: o, Address: o.Name + ":1", Kinds: []string{"k"}, Draining: len(words) > 1})
	}
	s.print(s.c.UpdateTopology(t, s.now))
}

func (s *trace) left(d *datadriven.TestData) {
	s.print(s.c.OnMemberLeft(ownerOf(arg(d, "name")), s.now), nil)
}

func (s *trace) resolve(d *datadriven.TestData) { s.print(s.c.Resolve(keyArg(d), s.now)) }

func (s *trace) abandon(d *datadriven.TestData) { s.c.Abandon(request(d)) }

func (s *trace) result(r CommandResult) { s.print(s.c.HandleCommandResult(r, s.now)) }

// acquired grants a lease: the activation itself, unless it is to lapse.
func (s *trace) acquired(d *datadriven.TestData) {
	l := Lease{Key: keyArg(d), Owner: selfA, Request: request(d), Epoch: number(d, "epoch"), Kept: true, Loaded: true}
	if text := arg(d, "lapses"); text != "" {
		l.Kept, l.Loaded, l.ExpiresAt = false, false, s.now.Add(duration(s.T, text))
	}
	s.result(LockAcquired{RequestID: request(d), Key: keyArg(d), Lease: l})
}

func (s *trace) denied(d *datadriven.TestData) {
	s.result(LockAcquired{RequestID: request(d), Key: keyArg(d), Err: errArg(d)})
}

func (s *trace) loaded(d *datadriven.TestData) {
	r := ActivationLoaded{RequestID: request(d), Key: keyArg(d), Err: errArg(d)}
	if o := arg(d, "owner"); o != "" {
		r.Entry = &ActivationEntry{Owner: ownerOf(o), Address: ownerOf(o).Name + ":1", Epoch: number(d, "epoch"), Topology: number(d, "topology"), Record: ActivationRecord{Snapshot: []byte("of " + o), Version: 3}}
	}
	s.result(r)
}

func (s *trace) ensured(d *datadriven.TestData) {
	s.result(ActivationEnsured{RequestID: request(d), Key: keyArg(d), Epoch: number(d, "epoch"), Record: ActivationRecord{PID: "pid-" + arg(d, "epoch")}, Err: errArg(d)})
}

func (s *trace) stored(d *datadriven.TestData) {
	s.result(ActivationStored{RequestID: request(d), Key: keyArg(d), Epoch: number(d, "epoch"), Err: errArg(d)})
}

func (s *trace) released(d *datadriven.TestData) {
	s.result(LockReleased{RequestID: request(d), Key: keyArg(d), Epoch: number(d, "epoch"), Err: errArg(d)})
}

func (s *trace) deactivated(d *datadriven.TestData) {
	r := ActivationDeactivated{RequestID: request(d), Key: keyArg(d), Epoch: number(d, "epoch"), Err: errArg(d)}
	if d.HasArg("used") {
		r.UsedAt = s.now
	}
	s.result(r)
}

func (s *trace) removed(d *datadriven.TestData) {
	s.result(ActivationRemoved{RequestID: request(d), Key: keyArg(d), Epoch: number(d, "epoch"), Err: errArg(d)})
}

func (s *trace) tick(*datadriven.TestData) { s.print(s.c.Tick(s.now), nil) }

func (s *trace) idle(d *datadriven.TestData) {
	s.print(s.c.PassivateIdle(s.now, duration(s.T, arg(d, "for"))), nil)
}

func (s *trace) use(d *datadriven.TestData) { s.c.Use(keyArg(d), number(d, "epoch"), s.now) }

func (s *trace) stop(*datadriven.TestData) { s.print(s.c.Stop(s.now)) }

func (s *trace) lose(d *datadriven.TestData) {
	if d.HasArg("all") {
		s.print(s.c.LoseAll(s.now), nil)
		return
	}
	s.print(s.c.LoseActivation(keyArg(d), number(d, "epoch"), s.now), nil)
}

func (s *trace) holder(d *datadriven.TestData) placement.Holder {
	o := ownerOf(arg(d, "holder"))
	return placement.Holder{Owner: o, Address: o.Name + ":1", Epoch: number(d, "epoch")}
}

func (s *trace) learn(d *datadriven.TestData) {
	s.print(s.c.Learn(keyArg(d), s.holder(d), s.now), nil)
}

func (s *trace) forget(d *datadriven.TestData) {
	s.print(s.c.Forget(keyArg(d), s.holder(d), s.now), nil)
}

func (s *trace) held(*datadriven.TestData) {
	snap := s.c.Snapshot()
	fmt.Fprintf(&s.b, "%s, topology %d, %d held, %d locations\n", snap.State, snap.Topology, snap.Held, snap.Locations)
	for _, a := range snap.Activations {
		fmt.Fprintf(&s.b, "active %s epoch %d pid %q topology %d idle %v\n", a.Key, a.Epoch, a.PID, a.Topology, a.Idle)
	}
	for _, p := range snap.Requests {
		fmt.Fprintf(&s.b, "pending %d %s: %s epoch %d, cause %s, %d wait for %d since %v, retry in %v\n", p.Request, p.Key, p.Step, p.Epoch, p.Cause, p.Waiters, p.Waiting, p.Age, p.Retry)
	}
}
