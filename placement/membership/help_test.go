// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, enginetest.Leaks()...) }

var ctx = context.Background()

// duration is that of the leases of the tests in virtual time.
const duration = membership.DefaultDuration

// latency bounds what a transaction and a watch take in virtual time: nothing on the
// plain engine, some milliseconds on the hostile one.
const latency = 100 * time.Millisecond

// inVirtualTime runs a test on the engine as it is and on the hostile one, where waiting
// takes no time.
func inVirtualTime(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, enginetest.InProcess(t)) })
	})
	t.Run("hostile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, faults.HostileT(t, enginetest.InProcess(t))) })
	})
}

// hostile reports whether inVirtualTime runs a test on the hostile engine, where each transaction
// costs more.
func hostile(t testing.TB) bool { return strings.Contains(t.Name(), "/hostile") }

func open(t testing.TB, db kv.Database) *membership.Registry {
	t.Helper()
	return must[*membership.Registry](t)(membership.New(db, membership.Options{}))
}

// join makes a member that leaves when the test ends.
func join(t testing.TB, db kv.Database, name string) *membership.Member {
	t.Helper()
	m := must[*membership.Member](t)(open(t, db).Join(ctx, membership.Self{Name: name, Address: name + ":80", Kinds: []string{"account"}}))
	t.Cleanup(func() { leave(m) })
	return m
}

// leave lets a member leave, which may be cut off.
func leave(m *membership.Member) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = m.Leave(ctx)
}

// awaitEnd waits until a member notices that it is no longer one.
func awaitEnd(t testing.TB, m *membership.Member) {
	t.Helper()
	select {
	case <-m.Context().Done():
	case <-time.After(10 * duration):
		t.Fatalf("%s is still a member", m.Member().Name)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func wantError(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

// cut is the database of a process that can be cut off from it, as by a crash or a
// network: its transactions then fail for as long as that lasts.
type cut struct {
	kv.Database
	off, noWatches atomic.Bool
	refuses        bool // the whole transaction if noWatches, else the watch alone
}

func (c *cut) Begin() (kv.Transaction, error) {
	if c.off.Load() {
		return nil, kv.NewError(kv.CodeProcessBehind, "cut off")
	}
	return c.Database.Begin()
}

func (c *cut) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return c.Database.Transact(ctx, func(tx kv.Transaction) error {
		if c.off.Load() {
			return kv.NewError(kv.CodeProcessBehind, "cut off")
		}
		watches := new(atomic.Bool)
		err := fn(cutTx{tx, c, watches})
		if err == nil && c.refuses && watches.Load() {
			return kv.NewError(kv.CodeTooManyWatches, "made up")
		}
		return err
	})
}

func (c *cut) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return c.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		if c.off.Load() {
			return kv.NewError(kv.CodeProcessBehind, "cut off")
		}
		return fn(tx)
	})
}

type cutTx struct {
	kv.Transaction
	cut     *cut
	watches *atomic.Bool // it asked for a watch that it did not get
}

// Transact has what takes part in the transaction see it as it is.
func (t cutTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

func (t cutTx) Watch(key []byte) kv.Future[struct{}] {
	if t.cut.noWatches.Load() {
		t.watches.Store(true)
		return kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTooManyWatches, "made up")))
	}
	return t.Transaction.Watch(key)
}

// follower notes what a watcher sees.
type follower struct {
	t      testing.TB
	cancel context.CancelFunc
	last   atomic.Pointer[placement.Topology]
	ended  chan error
}

// follow watches the topology until the test ends, and checks that versions only grow.
func follow(t testing.TB, db kv.Database) *follower {
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, cancel: cancel, ended: make(chan error, 1)}
	go func() {
		f.ended <- open(t, db).Follow(ctx, func(topology placement.Topology) {
			if before := f.last.Load(); before != nil && before.Version >= topology.Version {
				t.Errorf("version %d follows version %d", topology.Version, before.Version)
			}
			f.last.Store(&topology)
		})
	}()
	return f
}

// names returns the members that the follower knows.
func (f *follower) names() []string { return namesOf(f.last.Load()) }

func namesOf(topology *placement.Topology) []string {
	names := []string{}
	if topology != nil {
		for _, m := range topology.Members {
			names = append(names, m.Name)
		}
	}
	return names
}

// sees checks that the follower knows these members.
func (f *follower) sees(names ...string) {
	f.t.Helper()
	if got := f.names(); !slices.Equal(got, names) {
		f.t.Errorf("the topology has %v, want %v", got, names)
	}
}
