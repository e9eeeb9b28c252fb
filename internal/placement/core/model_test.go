// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"pgregory.net/rapid"
)

// model drives a coordinator with commands that are executed late, twice or
// not at all, and checks each of its outcomes.
type model struct {
	*rapid.T
	c       *Coordinator
	home    *home
	now     time.Time
	version int64
	dead    bool

	calls   []*call
	waiting map[placement.RequestID]int // resolves that wait for a request
	ended   map[placement.RequestID]bool
	steps   map[activationID][]string            // results that were delivered, by lease
	epochs  map[placement.Key]int64              // the last that became active
	holders map[placement.Key][]placement.Holder // others that have had a key
}

// call is a command that was handed out.
type call struct {
	cmd      Command
	result   CommandResult // nil: not executed yet
	answered bool          // some result was delivered
	owed     bool          // it was executed after it was given up: a driver still tells the result
}

func newModel(t *rapid.T) *model {
	o := Options{Self: selfA, Address: "a:1", RequestTimeout: 5 * time.Second, MaxWaiters: 3, MaxRequests: 3, CacheSize: 2, MovesPerTick: rapid.IntRange(0, 2).Draw(t, "moves")}
	c, err := NewCoordinator(o)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{
		T: t, c: c, home: newHome(rapid.Bool().Draw(t, "kept")), now: start,
		waiting: map[placement.RequestID]int{}, ended: map[placement.RequestID]bool{}, steps: map[activationID][]string{}, epochs: map[placement.Key]int64{}, holders: map[placement.Key][]placement.Holder{},
	}
	m.take(c.StartMember([]string{"k"}, m.now))
	m.newTopology("a", "b")
	return m
}

func (m *model) key() placement.Key {
	return placement.Key{Kind: "k", ID: rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(m.T, "key")}
}

func (m *model) newTopology(names ...string) {
	m.version++
	t := topology(m.version, names...)
	for i := range t.Members {
		t.Members[i].Draining = rapid.IntRange(0, 9).Draw(m.T, "draining") == 0
	}
	m.take(m.c.UpdateTopology(t, m.now))
}

// take checks an outcome and keeps its commands. Errors that the model expects are fine.
func (m *model) take(out Outcome, err error) Outcome {
	if err != nil && !isAny(err, placement.ErrStopped, placement.ErrNotReady, placement.ErrNoMember, placement.ErrOverloaded, placement.ErrStarted) {
		m.Fatal(err)
	}
	for _, cmd := range out.Commands {
		m.checkCommand(cmd)
		m.calls = append(m.calls, &call{cmd: cmd})
	}
	for _, a := range out.Answers {
		m.checkAnswer(a)
	}
	for _, e := range out.Events {
		m.checkEvent(e)
	}
	return out
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

func (m *model) checkAnswer(a Answer) {
	if m.ended[a.Request] {
		m.Fatalf("request %d was answered twice", a.Request)
	}
	if _, known := m.waiting[a.Request]; !known {
		m.Fatalf("request %d was answered, for which no resolve waits", a.Request)
	}
	delete(m.waiting, a.Request)
	m.ended[a.Request] = true
	if a.Err == nil {
		m.checkResolution(a.Key, a.Resolution)
	}
}

func (m *model) checkResolution(key placement.Key, r Resolution) {
	if r.Decision.Key != key {
		m.Fatalf("the resolution of %s is for %s", key, r.Decision.Key)
	}
	id := activationID{key, r.Epoch}
	switch {
	case r.Locality == Local && !m.home.live[id]:
		m.Fatalf("%v is local, and the executor has not got it", id)
	case r.Locality == Local && !m.home.row(key).stored[r.Epoch]:
		m.Fatalf("%v is local, and was not stored", id)
	case r.Locality == Remote && r.Owner == selfA:
		m.Fatalf("%v is remote, at this member", id)
	}
}

func (m *model) checkEvent(e placement.Event) {
	if !e.ObservedAt.Equal(m.now) {
		m.Fatalf("event %+v is not of now", e)
	}
	if e.Kind == placement.Activated {
		if e.Epoch <= m.epochs[e.Key] {
			m.Fatalf("%s became active under epoch %d, after %d", e.Key, e.Epoch, m.epochs[e.Key])
		}
		m.epochs[e.Key] = e.Epoch
	}
}

// checkCommand checks that what a command needs has happened.
func (m *model) checkCommand(cmd Command) {
	_, key := cmd.Correlation()
	need := func(epoch int64, step string) {
		if !slices.Contains(m.steps[activationID{key, epoch}], step) {
			m.Fatalf("%#v without a result %q; the key has had %v", cmd, step, m.steps[activationID{key, epoch}])
		}
	}
	switch cmd := cmd.(type) {
	case LoadActivation:
		need(cmd.Epoch, "acquired")
	case EnsureActivation:
		need(cmd.Epoch, "acquired")
		if !m.home.kept {
			need(cmd.Epoch, "loaded")
		}
	case StoreActivation:
		need(cmd.Lease.Epoch, "ensured")
	case Release:
		m.checkAlive(cmd)
	case Deactivate:
		need(cmd.Epoch, "acquired")
	case RemoveActivation:
		m.checkAlive(cmd)
	}
}

func (m *model) checkAlive(cmd Command) {
	if m.dead {
		m.Fatalf("%#v, though others take the member for dead", cmd)
	}
}

// deliver passes a result on.
func (m *model) deliver(call *call, r CommandResult) {
	call.answered = true
	if call.owed && call.result != nil {
		call.owed = false
	}
	_, key := r.Correlation()
	note := func(epoch int64, step string, err error) {
		if err == nil {
			m.steps[activationID{key, epoch}] = append(m.steps[activationID{key, epoch}], step)
		}
	}
	switch r := r.(type) {
	case LockAcquired:
		note(r.Lease.Epoch, "acquired", r.Err)
	case ActivationLoaded:
		note(call.cmd.(LoadActivation).Epoch, "loaded", r.Err)
	case ActivationEnsured:
		note(r.Epoch, "ensured", r.Err)
	}
	m.take(m.c.HandleCommandResult(r, m.now))
}

// checkHeld checks, once all has ended, that the home and the executor have
// exactly what is in use.
func (m *model) checkHeld() {
	if len(m.waiting) > 0 {
		m.Fatalf("requests %v were not answered", slices.Sorted(maps.Keys(m.waiting)))
	}
	if len(m.c.waits)+len(m.c.byKey)+m.c.requests > 0 {
		m.Fatalf("%d waits, %d keys and %d requests are left", len(m.c.waits), len(m.c.byKey), m.c.requests)
	}
	active := map[activationID]bool{}
	for _, a := range m.c.Snapshot().Activations {
		active[activationID{a.Key, a.Epoch}] = true
	}
	if m.c.Held() != len(active) {
		m.Fatalf("%d are held, %d are active: %+v", m.c.Held(), len(active), m.c.Snapshot().Requests)
	}
	if !maps.Equal(m.home.live, active) {
		m.Fatalf("the executor has %v, active are %v", m.home.live, active)
	}
	for key, r := range m.home.rows {
		switch {
		case m.dead:
		case r.isHeld(m.now) && r.owner == selfA && !(m.home.kept && active[activationID{key, r.epoch}]):
			m.Fatalf("the lock of %s is held under epoch %d; active are %v", key, r.epoch, active)
		case r.entry != nil && r.entry.Owner == selfA && !active[activationID{key, r.entry.Epoch}]:
			m.Fatalf("the entry of %s is left under epoch %d; active are %v", key, r.entry.Epoch, active)
		}
	}
}

// TestModel lets a coordinator go through random resolves, topologies, timeouts,
// stops and thefts of keys, with commands that are executed late, fail with or without effect,
// and are answered late and twice. "go test -run TestModel -rapid.checks=100000" looks longer.
func TestModel(t *testing.T) {
	for range 20 {
		rapid.Check(t, checkModel)
	}
}

func checkModel(t *rapid.T) {
	m := newModel(t)
	t.Repeat(m.actions())
	m.heal()
	m.checkHeld()
	m.take(m.c.Stop(m.now))
	m.heal()
	m.checkHeld()
	if m.c.Held() > 0 {
		t.Fatalf("%d are held by a coordinator that is stopped", m.c.Held())
	}
}
