// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

// fakeLookup stands for the driver in tests of single activations and of routes.
type fakeLookup struct {
	lookup  // what a test does not need
	resolve func(ctx context.Context, key placement.Key) (placement.Resolution, error)

	mu      sync.Mutex
	used    int
	lost    []int64 // epochs
	left    []int64
	learned []placement.Holder
	forgot  []placement.Holder
}

func (f *fakeLookup) Resolve(ctx context.Context, key placement.Key) (placement.Resolution, error) {
	return f.resolve(ctx, key)
}

func (f *fakeLookup) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// ends returns the epochs whose end was asked for.
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

func (f *fakeLookup) State() placement.State                  { return placement.StateNotReady }
func (f *fakeLookup) UpdateTopology(placement.Topology) error { return nil }
func (f *fakeLookup) LoseAll()                                {}
func (f *fakeLookup) Stop(context.Context) error              { return nil }

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

// newFake returns a host whose session has a fake driver, started.
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
	f.resolve = func(ctx context.Context, key placement.Key) (placement.Resolution, error) {
		return placement.Resolution{Locality: placement.Local, Owner: owner}, nil
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
	if _, err := s.EnsureActivation(t.Context(), placement.EnsureActivation{Key: key, Owner: s.owner, Epoch: epoch}); err != nil {
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
