// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
	"github.com/kazahana-db/kazahana/placement/host/internal/account"
	"github.com/kazahana-db/kazahana/placement/membership"
)

func openMemory(t testing.TB) kv.Database {
	t.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
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

// accountActor is a bank account whose record is written under its fence.
type accountActor struct {
	a       *host.Activation
	records *account.AccountStore
	record  *account.Account
	bank    *bank
}

// bank is a process with accounts.
type bank struct {
	*host.Host
	freezer *freezer
	db      *persistable.DB
	deposit *host.Method[int64, int64]
	paused  *host.Method[int64, int64]

	opened chan time.Time // when a factory ran
	ended  chan time.Time // when the context of a paused call ended
	cause  error          // with which it did
	resume chan struct{}
}

func (b *bank) open(ctx context.Context, a *host.Activation) (*accountActor, error) {
	select {
	case b.opened <- time.Now():
	default:
	}
	x := &accountActor{a: a, bank: b, records: account.AccountStoreOf(b.db.Under(a.Fence()))}
	var err error
	x.record, err = x.records.ByOwner(ctx, a.Key().ID)
	if errors.Is(err, persistable.ErrNotFound) {
		x.record = account.NewAccount(account.Account{Owner: a.Key().ID})
		err = x.records.Create(ctx, x.record)
	}
	return x, err
}

func (x *accountActor) deposit(ctx context.Context, by int64) (int64, error) {
	changed := *x.record
	changed.Balance += by
	if err := x.records.Save(ctx, &changed); err != nil {
		return 0, err
	}
	x.record = &changed
	return changed.Balance, nil
}

// paused deposits once the test lets it, as a process does that was suspended: with
// a context that does not end.
func (x *accountActor) paused(ctx context.Context, by int64) (int64, error) {
	<-ctx.Done()
	x.bank.cause = context.Cause(ctx)
	x.bank.ended <- time.Now()
	<-x.bank.resume
	return x.deposit(context.WithoutCancel(ctx), by)
}

// newBank returns a process of the name that has not been started.
func newBank(t *testing.T, engine kv.Database, network *hosttest.Network, name string) *bank {
	t.Helper()
	b := &bank{
		freezer: &freezer{Database: engine},
		opened:  make(chan time.Time, 100), ended: make(chan time.Time, 1), resume: make(chan struct{}),
	}
	var errs [5]error
	b.db, errs[0] = persistable.Open(t.Context(), engine)
	b.Host, errs[1] = host.New(b.freezer, host.Options{Name: name, Transport: network.Listen(name), Logger: slog.New(slog.DiscardHandler)})
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	var kind *host.Kind[*accountActor]
	kind, errs[2] = host.Register(b.Host, "account", b.open)
	b.deposit, errs[3] = host.Handle(kind, "deposit", (*accountActor).deposit)
	b.paused, errs[4] = host.Handle(kind, "paused", (*accountActor).paused)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return b
}

func startBank(t *testing.T, engine kv.Database, network *hosttest.Network, name string) *bank {
	t.Helper()
	b := newBank(t, engine, network, name)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bank) stop(t *testing.T) {
	t.Helper()
	if err := b.Stop(context.Background()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

// inBubble runs a test in virtual time, in a year that IDs can name, on an engine and on one that
// uses all its liberties.
func inBubble(t *testing.T, test func(t *testing.T, engine kv.Database)) {
	t.Helper()
	for name, wrap := range map[string]func(testing.TB, kv.Database) kv.Database{
		"engine":  func(_ testing.TB, db kv.Database) kv.Database { return db },
		"hostile": kvtest.HostileT,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))
				test(t, wrap(t, openMemory(t)))
			})
		})
	}
}

// lent is an engine that several persistable.DBs share: closing one of them does not close it.
type lent struct{ kv.Database }

func (lent) Close() error { return nil }

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
		var taken *membership.NameError
		if err := second.Start(t.Context()); !errors.As(err, &taken) {
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

// startWithMethod starts a host with one kind, whose one method returns 0.
func startWithMethod(t *testing.T, h *host.Host) *host.Method[int, int] {
	t.Helper()
	kind, err := host.Register(h, "kind", func(context.Context, *host.Activation) (int, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	m, err := host.Handle(kind, "m", func(int, context.Context, int) (int, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// A cold activation is two transactions, an active one none.
func TestCostOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := kvtest.Count(openMemory(t))
		h, err := host.New(counted, host.Options{Name: "a", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		m := startWithMethod(t, h)
		call := func(id string) func() error {
			return func() error { _, err := m.Call(t.Context(), id, 1); return err }
		}
		if err := call("first")(); err != nil { // creates the directory
			t.Fatal(err)
		}
		if err := call("second")(); err != nil { // remembers it
			t.Fatal(err)
		}
		synctest.Wait()
		for _, test := range []struct {
			name, id string
			begins   int
		}{{"cold", "x", 2}, {"active", "x", 0}} {
			n, err := counted.Measure(call(test.id))
			if err != nil || n.Begins != test.begins || n.Rounds > test.begins {
				t.Errorf("a call of what is %s costs %d transactions, %v, %v", test.name, n.Begins, n, err)
			}
		}
		if err := h.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A client of a cluster that has had no member yet starts; its calls wait until their context ends.
func TestClientBeforeTheFirstMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := host.NewClient(openMemory(t), host.Options{CallTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = client.Call(t.Context(), placement.Key{Kind: "account", ID: "alice"}, "deposit", 1, nil)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, host.ErrOutcomeUnknown) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := client.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBadOptions(t *testing.T) {
	db := openMemory(t)
	for name, o := range map[string]host.Options{
		"no name":            {},
		"a short lease":      {Name: "a", Lease: time.Millisecond},
		"a long lease":       {Name: "a", Lease: 2 * time.Hour},
		"a negative mailbox": {Name: "a", Mailbox: -1},
		"a negative payload": {Name: "a", MaxPayload: -1},
		"a negative timeout": {Name: "a", DeactivateTimeout: -1},
	} {
		if _, err := host.New(db, o); err == nil {
			t.Errorf("%s: a host is made", name)
		}
	}
	if _, err := host.New(nil, host.Options{Name: "a"}); err == nil {
		t.Error("a host is made without a database")
	}
	for _, name := range []string{"a\x00b", "\xff", fmt.Sprint(make([]byte, 200))} {
		h, err := host.New(db, host.Options{Name: name})
		if err == nil {
			err = h.Start(t.Context())
		}
		if err == nil {
			t.Errorf("a host %q is started", name)
		}
	}
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
		var none *placement.NoMemberError
		if _, err := m.Call(t.Context(), "x", 1); !errors.As(err, &none) {
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
