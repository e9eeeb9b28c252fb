// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
	"github.com/kazahana-db/kazahana/placement/membership"
)

func TestRecordsUnderTheFence(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		network := hosttest.NewNetwork()
		a := startBank(t, lent{engine}, network, "a")
		defer a.db.Close()
		for i := range int64(3) {
			if got, err := a.deposit.Call(t.Context(), "alice", 100); err != nil || got != 100*(i+1) {
				t.Fatal(got, err)
			}
		}
		a.stop(t)
		b := startBank(t, lent{engine}, network, "b")
		defer b.db.Close()
		if got, err := b.deposit.Call(t.Context(), "alice", 100); err != nil || got != 400 {
			t.Errorf("another process deposits: %v, %v", got, err)
		}
		b.stop(t)
	})
}

// A process that was paused finds its contexts ended before another could have the
// key, and the database refuses what it writes; then it becomes a member again.
func TestPausedHostCannotWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		network := hosttest.NewNetwork()
		a := startBank(t, lent{engine}, network, "a")
		defer a.db.Close()
		if _, err := a.deposit.Call(t.Context(), "alice", 100); err != nil {
			t.Fatal(err)
		}
		first, _ := a.Member()
		late := make(chan error, 1)
		go func() {
			_, err := a.paused.Call(t.Context(), "alice", 1000)
			late <- err
		}()
		synctest.Wait()
		a.freezer.freeze()
		network.Cut("a", true)
		froze := time.Now()
		b := startBank(t, lent{engine}, network, "b")
		defer b.db.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if got, err := b.deposit.Call(ctx, "alice", 10); err != nil || got != 110 {
			t.Fatal(got, err)
		}
		opened, ended := <-b.opened, <-a.ended
		if !errors.Is(a.cause, placement.ErrActivationLost) || !errors.Is(a.cause, leasefdb.ErrLeaseLost) {
			t.Errorf("its context ended with %v", a.cause)
		}
		if ended.After(opened) || ended.Sub(froze) > host.DefaultLease {
			t.Errorf("its context ended after %v, when the other had the key since %v", ended.Sub(froze), opened.Sub(froze))
		}
		close(a.resume)
		if err := <-late; !errors.Is(err, host.ErrOutcomeUnknown) && !errors.Is(err, placement.ErrActivationLost) {
			t.Errorf("the call that it had: %v", err)
		}
		if got, err := b.deposit.Call(ctx, "alice", 0); err != nil || got != 110 {
			t.Errorf("the balance is %v, %v", got, err)
		}
		a.freezer.thaw()
		network.Cut("a", false)
		time.Sleep(time.Minute)
		if got, err := a.deposit.Call(ctx, "alice", 1); err != nil || got != 111 {
			t.Errorf("a call from the process that was paused: %v, %v", got, err)
		}
		if again, ok := a.Member(); !ok || again.Incarnation <= first.Incarnation {
			t.Errorf("it is %v, was %v", again, first)
		}
		a.stop(t)
		b.stop(t)
	})
}

// After an outage that was longer than the lease, a host joins again at once: its own old lease, which
// has lapsed here but not been taken, is not a reason to wait.
func TestHostJoinsAtOnceAfterAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		a := startBank(t, lent{engine}, hosttest.NewNetwork(), "a")
		defer a.db.Close()
		a.freezer.freeze()
		time.Sleep(time.Minute)
		if owner, is := a.Member(); is {
			t.Errorf("during the outage it is %v", owner)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := a.deposit.Call(ctx, "alice", 1)
		if !errors.Is(err, placement.ErrNotReady) || !strings.Contains(err.Error(), "the member a has lost its membership and joins again") {
			t.Errorf("a call during the outage: %v", err)
		}
		a.freezer.thaw()
		time.Sleep(3 * time.Second) // the pause between two attempts, at most a second, and some transactions
		if owner, is := a.Member(); !is || owner.Incarnation != 2 {
			t.Errorf("3 s after the outage it is %v, %v", owner, is)
		}
		a.stop(t)
	})
}

// The hosts of a copy of a database, which has forgotten the members of the original, call no host of the
// original.
func TestCopyOfADatabase(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		network := hosttest.NewNetwork()
		a := startBank(t, lent{engine}, network, "a")
		defer a.db.Close()
		if got, err := a.deposit.Call(t.Context(), "alice", 100); err != nil || got != 100 {
			t.Fatal(got, err)
		}
		copied := copyOf(t, engine)
		members, err := membership.New(copied, membership.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := members.Forget(t.Context()); n != 1 || err != nil {
			t.Fatalf("it has forgotten %d members, %v", n, err)
		}
		b := startBank(t, lent{copied}, network, "b")
		defer b.db.Close()
		if got, err := b.deposit.Call(t.Context(), "alice", 10); err != nil || got != 110 {
			t.Errorf("a deposit in the copy: %v, %v", got, err)
		}
		if got, err := a.deposit.Call(t.Context(), "alice", 1); err != nil || got != 101 {
			t.Errorf("a deposit in the original after that: %v, %v", got, err)
		}
		a.stop(t)
		b.stop(t)
	})
}

// copyOf returns an engine with the same keys.
func copyOf(t *testing.T, engine kv.Database) kv.Database {
	t.Helper()
	copied := enginetest.InProcess(t)
	pairs, err := kv.ReadTransact(t.Context(), engine, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(t.Context())
	})
	if err == nil {
		err = copied.Transact(t.Context(), func(tx kv.Transaction) error {
			for _, pair := range pairs {
				tx.Set(pair.Key, pair.Value)
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// A process of another cluster that gets the address of a member which has died answers none of its calls,
// though it has the same name and incarnation.
func TestAddressOfAnotherCluster(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		network := hosttest.NewNetwork()
		a, b := startBank(t, lent{engine}, network, "a"), startBank(t, lent{engine}, network, "b")
		defer a.db.Close()
		defer b.db.Close()
		sent := 0
		network.Observe(func(string, host.Request) { sent++ })
		depositAll := func(want int64) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for i := range 10 {
				if got, err := b.deposit.Call(ctx, fmt.Sprint("account-", i), 1); err != nil || got != want {
					t.Errorf("account %d has %d, %v; want %d", i, got, err, want)
				}
			}
		}
		depositAll(1)
		if sent == 0 {
			t.Fatal("a has none of the accounts")
		}
		a.freezer.freeze() // it dies
		foreign := startBank(t, lent{enginetest.InProcess(t)}, network, "a")
		defer foreign.db.Close()
		if is, _ := foreign.Member(); is.Incarnation != 1 {
			t.Fatalf("it is %v", is)
		}
		depositAll(2)
		a.freezer.thaw()
		a.stop(t)
		b.stop(t)
		foreign.stop(t)
	})
}

// A fence that does not hold ends the activation, though nothing else has told of it.
func TestFenceEndsTheActivation(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		network := hosttest.NewNetwork()
		a := startBank(t, lent{engine}, network, "a")
		defer a.db.Close()
		if _, err := a.deposit.Call(t.Context(), "alice", 100); err != nil {
			t.Fatal(err)
		}
		a.freezer.freeze() // it does not see what comes
		owner, _ := a.Member()
		members, err := membership.New(engine, membership.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := members.Evict(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		b := startBank(t, lent{engine}, network, "b")
		defer b.db.Close()
		network.Cut("a", true)
		if got, err := b.deposit.Call(t.Context(), "alice", 10); err != nil || got != 110 {
			t.Fatal(got, err)
		}
		_, err = a.deposit.Call(t.Context(), "alice", 1)
		if !errors.Is(err, placement.ErrActivationLost) || !errors.Is(err, leasefdb.ErrLeaseLost) {
			t.Errorf("a write of the one that was evicted: %v", err)
		}
		a.freezer.thaw()
		network.Cut("a", false)
		time.Sleep(time.Minute)
		if got, err := a.deposit.Call(t.Context(), "alice", 1); err != nil || got != 111 {
			t.Errorf("after it is a member again: %v, %v", got, err)
		}
		a.stop(t)
		b.stop(t)
	})
}

func TestOneHostOfAName(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		network := hosttest.NewNetwork()
		a := startBank(t, lent{engine}, network, "a")
		defer a.db.Close()
		second := newBank(t, lent{engine}, network, "a")
		defer second.db.Close()
		if err := second.Start(t.Context()); !errors.Is(err, membership.ErrNameTaken) {
			t.Errorf("a second host of the name: %v", err)
		}
		a.stop(t)
		began := time.Now()
		if err := second.Start(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("after the first has left: %v after %v", err, time.Since(began))
		}
		second.stop(t)
	})
}

// A host on a database follows its source: it is a member, and is not to be used.
func TestSourceOnADatabase(t *testing.T) {
	inBubble(t, func(t *testing.T, engine kv.Database) {
		s := newList("another")
		h, err := host.New(engine, host.Options{Name: "a", Source: s.source, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		m := startWithMethod(t, h)
		if _, err := m.Call(t.Context(), "x", 1); !errors.Is(err, placement.ErrNoMember) {
			t.Errorf("it is not listed: %v", err)
		}
		s.set("a")
		time.Sleep(time.Second)
		if _, err := m.Call(t.Context(), "x", 1); err != nil {
			t.Errorf("it is listed: %v", err)
		}
		if err := h.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// freezer is a database that a process does not reach while it is frozen.
type freezer struct {
	kv.Database

	mu     sync.Mutex
	thawed chan struct{} // nil: it is not frozen
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.thawed = make(chan struct{})
}

func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.thawed)
	f.thawed = nil
}

func (f *freezer) wait(ctx context.Context) error {
	f.mu.Lock()
	thawed := f.thawed
	f.mu.Unlock()
	if thawed == nil {
		return nil
	}
	select {
	case <-thawed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *freezer) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	return f.Database.Transact(ctx, func(tx kv.Transaction) error {
		if err := fn(tx); err != nil {
			return err
		}
		return f.wait(ctx)
	})
}

func (f *freezer) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	return f.Database.ReadTransact(ctx, fn)
}
