// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// fakeLookup stands for the driver in tests of single activations and of routes.
type fakeLookup struct {
	lookup  // what a test does not need
	resolve func(ctx context.Context, key placement.Key) (core.Resolution, error)

	mu      sync.Mutex
	used    int
	lost    []int64 // epochs
	left    []int64
	learned []placement.Holder
	forgot  []placement.Holder
}

func (f *fakeLookup) Resolve(ctx context.Context, key placement.Key) (core.Resolution, error) {
	return f.resolve(ctx, key)
}

func (f *fakeLookup) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// ends returns the epochs that were asked to end.
func (f *fakeLookup) ends() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left
}

func (f *fakeLookup) Use(placement.Key, int64) { f.note(func() { f.used++ }) }

func (f *fakeLookup) LoseActivation(_ placement.Key, epoch int64) {
	f.note(func() { f.lost = append(f.lost, epoch) })
}

func (f *fakeLookup) Passivate(_ placement.Key, epoch int64) {
	f.note(func() { f.left = append(f.left, epoch) })
}

func (f *fakeLookup) Learn(_ placement.Key, h placement.Holder) {
	f.note(func() { f.learned = append(f.learned, h) })
}

func (f *fakeLookup) Forget(_ placement.Key, h placement.Holder) {
	f.note(func() { f.forgot = append(f.forgot, h) })
}

func (f *fakeLookup) State() placement.State { return placement.StateNotReady }

func (f *fakeLookup) UpdateTopology(placement.Topology) error { return nil }

func (f *fakeLookup) LoseAll() {}

func (f *fakeLookup) Stop(context.Context) error { return nil }

func (f *fakeLookup) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// fakeCluster has no members and no home.
type fakeCluster struct{}

func (fakeCluster) joinMember(context.Context, placement.Member) (seat, error) { panic("not joined") }

func (fakeCluster) watchMembers(ctx context.Context, _ func(placement.Topology)) error {
	<-ctx.Done()
	return ctx.Err()
}

func (fakeCluster) homes(*session) driver.Homes { return driver.Homes{} }

// fence is never in force.
func (fakeCluster) fence(key placement.Key, _ placement.Owner, epoch int64) leasefdb.Fence {
	return leasefdb.NewFence(nil, func([]byte) error {
		return &leasefdb.LostError{Name: key.String(), Epoch: epoch, Err: placement.ErrActivationLost}
	})
}

// newFake returns a started host with a fake driver in its session.
func newFake(t *testing.T, o Options, register func(h *Host)) (*Host, *session, *fakeLookup) {
	t.Helper()
	o.Name = "self"
	h := newHost(&process{options: o.withDefaults(), cluster: fakeCluster{}})
	register(h)
	f := new(fakeLookup)
	owner := placement.Owner{Name: "self", Incarnation: 1}
	s := &session{options: &h.options, cluster: h.cluster, owner: owner, kinds: make(map[string]*activations), pid: owner.String(), began: time.Now(), driver: f}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	for name, k := range h.kinds {
		s.kinds[name] = newActivations(k, s)
	}
	f.resolve = func(ctx context.Context, key placement.Key) (core.Resolution, error) {
		return core.Resolution{Locality: core.Local, Owner: owner}, nil
	}
	h.session.Store(s)
	h.state.Store(stateStarted)
	t.Cleanup(func() { s.cancel(ErrDeactivated) })
	return h, s, f
}

// activate makes the activation of an id under an epoch.
func (s *session) activate(t *testing.T, kind, id string, epoch int64) *Activation {
	t.Helper()
	key := placement.Key{Kind: kind, ID: id}
	if _, err := s.EnsureActivation(t.Context(), core.EnsureActivation{Key: key, Owner: s.owner, Epoch: epoch}); err != nil {
		t.Fatal(err)
	}
	return s.kinds[kind].find(id, epoch)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// routes is a transport that has a function for each address.
type routes struct {
	alone
	to func(ctx context.Context, address string, r Request) (Reply, error)

	mu   sync.Mutex
	sent []string // address and forwards
}

func (x *routes) Address() string { return "self" }

func (x *routes) Call(ctx context.Context, address string, r Request) (Reply, error) {
	x.mu.Lock()
	x.sent = append(x.sent, fmt.Sprint(address, r.Forwards))
	x.mu.Unlock()
	return x.to(ctx, address, r)
}

func (x *routes) path() string { return strings.Join(x.sent, " ") }

func holderAt(name string, epoch int64) placement.Holder {
	return placement.Holder{Owner: placement.Owner{Name: name, Incarnation: 1}, Address: name, Epoch: epoch}
}

func remote(h placement.Holder) core.Resolution {
	return core.Resolution{Locality: core.Remote, Owner: h.Owner, Address: h.Address, Epoch: h.Epoch}
}

// newRouted returns a host that finds keys where at says, and its transport.
func newRouted(t *testing.T, options ...Option) (m *Method[string, string], p *process, x *routes, f *fakeLookup, at *placement.Holder) {
	x, at = new(routes), new(placement.Holder)
	h, _, f := newFake(t, Options{Transport: x, MaxPayload: 100}, func(h *Host) {
		kind := must[*Kind[int]](t)(Register(h, "kind", func(context.Context, *Activation) (int, error) { return 0, nil }))
		m = must[*Method[string, string]](t)(Handle(kind, "m", func(int, context.Context, string) (string, error) { return "here", nil }, options...))
	})
	f.resolve = func(ctx context.Context, _ placement.Key) (core.Resolution, error) {
		return remote(*at), ctx.Err()
	}
	return m, &h.process, x, f, at
}

func done(result string, h placement.Holder) (Reply, error) {
	return Reply{Status: Done, Payload: fmt.Appendf(nil, "%q", result), Holder: h}, nil
}

// actor is a virtual actor with a method that does what a test says.
type actor struct {
	a       *Activation
	ended   *atomic.Int32
	running atomic.Int32
}

func (x *actor) Deactivate(ctx context.Context) error {
	x.ended.Add(1)
	return nil
}

// script is what calls do, by their argument.
type script struct {
	mu    sync.Mutex
	steps map[string]func(ctx context.Context, x *actor) error
	ended atomic.Int32
	opens atomic.Int32
	open  func(ctx context.Context, a *Activation) error // nil: succeeds
}

func newScript() *script {
	return &script{steps: make(map[string]func(context.Context, *actor) error)}
}

func (s *script) on(name string, step func(ctx context.Context, x *actor) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps[name] = step
}

func (s *script) register(t *testing.T, options ...Option) (func(h *Host), **Method[string, int64]) {
	method := new(*Method[string, int64])
	return func(h *Host) {
		kind := must[*Kind[*actor]](t)(Register(h, "actor", func(ctx context.Context, a *Activation) (*actor, error) {
			s.opens.Add(1)
			if s.open != nil {
				if err := s.open(ctx, a); err != nil {
					return nil, err
				}
			}
			return &actor{a: a, ended: &s.ended}, nil
		}, options...))
		*method = must[*Method[string, int64]](t)(Handle(kind, "do", s.do))
	}, method
}

// do runs a step and returns the epoch of the activation.
func (s *script) do(x *actor, ctx context.Context, name string) (int64, error) {
	if x.running.Add(1) > 1 {
		return 0, errors.New("two calls run at once")
	}
	defer x.running.Add(-1)
	s.mu.Lock()
	step := s.steps[name]
	s.mu.Unlock()
	if step == nil {
		return x.a.Epoch(), nil
	}
	return x.a.Epoch(), step(ctx, x)
}

// result is what a call in the background returned.
type result struct {
	epoch int64
	err   error
}

func callAsync(ctx context.Context, m *Method[string, int64], id, step string) <-chan result {
	results := make(chan result, 1)
	go func() {
		epoch, err := m.Call(ctx, id, step)
		results <- result{epoch, err}
	}()
	return results
}
