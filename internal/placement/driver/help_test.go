// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const kind = "thing"

func keyOf(id string) placement.Key { return placement.Key{Kind: kind, ID: id} }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// executor makes activations and counts them. Its hooks may be nil.
type executor struct {
	ensure     func(ctx context.Context, c core.EnsureActivation) error
	deactivate func(ctx context.Context, c core.Deactivate) error

	mu     sync.Mutex
	active map[activation]bool
	made   int
	causes []placement.Cause
}

// activation is a running activation.
type activation struct {
	key   placement.Key
	epoch int64
}

func (x *executor) EnsureActivation(ctx context.Context, c core.EnsureActivation) (core.ActivationRecord, error) {
	if x.ensure != nil {
		if err := x.ensure(ctx, c); err != nil {
			return core.ActivationRecord{}, err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.active == nil {
		x.active = map[activation]bool{}
	}
	if a := (activation{c.Key, c.Epoch}); !x.active[a] {
		x.made++
		x.active[a] = true
	}
	return core.ActivationRecord{PID: fmt.Sprintf("%s$%d", c.Key, c.Epoch)}, nil
}

func (x *executor) Deactivate(ctx context.Context, c core.Deactivate) error {
	if x.deactivate != nil {
		if err := x.deactivate(ctx, c); err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.active, activation{c.Key, c.Epoch})
	x.causes = append(x.causes, c.Cause)
	return nil
}

func (x *executor) countActivations() (active, made int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.active), x.made
}

// runs reports whether the activation of the epoch runs.
func (x *executor) runs(key placement.Key, epoch int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.active[activation{key, epoch}]
}

// running returns the activations that run.
func (x *executor) running() []activation {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.active))
}

// home is a home in memory, as tests need it.
type home interface {
	driver.Lock
	driver.Storage
}

func newHome(t testing.TB, o memory.Options) *memory.Home {
	t.Helper()
	h, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// member is a driver with its executor.
type member struct {
	*driver.Driver
	*executor
	self placement.Member
}

// newMember makes a member of the name, which is not started.
func newMember(t testing.TB, name string, h home, x *executor, o driver.Options, c core.Options) *member {
	t.Helper()
	self := placement.Member{Owner: placement.Owner{Name: name, Incarnation: 1}, Address: name + ":4000", Kinds: []string{kind}}
	c.Self, c.Address = self.Owner, self.Address
	coordinator, err := core.NewCoordinator(c)
	if err != nil {
		t.Fatal(err)
	}
	if o.Logger == nil {
		o.Logger = quiet
	}
	d, err := driver.New(coordinator, driver.Homes{Lock: h, Storage: h, Executor: x}, o)
	if err != nil {
		t.Fatal(err)
	}
	return &member{Driver: d, executor: x, self: self}
}

// start starts the members with a topology of all of them.
func start(t testing.TB, version int64, members ...*member) {
	t.Helper()
	for _, m := range members {
		if err := m.StartMember([]string{kind}); err != nil {
			t.Fatal(err)
		}
		if err := m.UpdateTopology(topology(version, members...)); err != nil {
			t.Fatal(err)
		}
	}
}

func topology(version int64, members ...*member) placement.Topology {
	t := placement.Topology{Version: version}
	for _, m := range members {
		t.Members = append(t.Members, m.self)
	}
	return t
}

// alone makes a started member that is the only one.
func alone(t testing.TB, h home, x *executor, o driver.Options, c core.Options) *member {
	t.Helper()
	m := newMember(t, "a", h, x, o, c)
	start(t, 1, m)
	return m
}

// stop stops the members, which must hand everything back.
func stop(t testing.TB, members ...*member) {
	t.Helper()
	for _, m := range members {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if active, _ := m.countActivations(); active > 0 {
			t.Errorf("%d activations are left after Stop", active)
		}
	}
}

// resolve resolves a key, which must succeed.
func resolve(t testing.TB, m *member, key placement.Key) core.Resolution {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := m.Resolve(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hookedHome is a home with hooks before and after each call; nil: none.
type hookedHome struct {
	home
	before func(ctx context.Context, method string, key placement.Key) error
	after  func(ctx context.Context, method string, key placement.Key) error
}

func (h *hookedHome) runHooks(ctx context.Context, method string, key placement.Key, call func() error) error {
	if h.before != nil {
		if err := h.before(ctx, method, key); err != nil {
			return err
		}
	}
	if err := call(); err != nil || h.after == nil {
		return err
	}
	return h.after(ctx, method, key)
}

func (h *hookedHome) TryAcquire(ctx context.Context, c core.TryAcquire) (l core.Lease, err error) {
	err = h.runHooks(ctx, "TryAcquire", c.Key, func() (err error) { l, err = h.home.TryAcquire(ctx, c); return err })
	return l, err
}

func (h *hookedHome) Release(ctx context.Context, l core.Lease) error {
	return h.runHooks(ctx, "Release", l.Key, func() error { return h.home.Release(ctx, l) })
}

func (h *hookedHome) Load(ctx context.Context, key placement.Key) (e *core.ActivationEntry, err error) {
	err = h.runHooks(ctx, "Load", key, func() (err error) { e, err = h.home.Load(ctx, key); return err })
	return e, err
}

func (h *hookedHome) Store(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
	return h.runHooks(ctx, "Store", l.Key, func() error { return h.home.Store(ctx, l, e) })
}

func (h *hookedHome) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	return h.runHooks(ctx, "Remove", key, func() error { return h.home.Remove(ctx, key, owner, epoch) })
}
