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

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
	"github.com/kazahana-db/kazahana/placement/host/internal/account"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a host of a test with its handles.
type node struct {
	*host.Host
	peer *hosttest.Peer
	methods
}

type methods struct {
	add, retried *host.Method[time.Duration, int64]
	hang         *host.Method[time.Duration, string]
}

// open returns a host of the name, which has not been started.
func (c *cluster) open(l *ledger, o host.Options) *node {
	c.t.Helper()
	on, o, peer := c.options(o)
	o.Logger = slog.New(slog.DiscardHandler)
	n := &node{Host: host.NewOn(on, o), peer: peer}
	var errs [4]error
	var kind *host.Kind[*counter]
	kind, errs[0] = host.Register(n.Host, "counter", l.open)
	n.add, errs[1] = host.Handle(kind, "add", (*counter).add)
	n.retried, errs[2] = host.Handle(kind, "retried", (*counter).add, host.Idempotent)
	n.hang, errs[3] = host.Handle(kind, "hang", (*counter).hang)
	if err := errors.Join(errs[:]...); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// start starts hosts of the names.
func (c *cluster) start(l *ledger, names ...string) (nodes []*node) {
	c.t.Helper()
	for _, name := range names {
		n := c.open(l, host.Options{Name: name})
		if err := n.Start(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func stop(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
}

// client returns a client that has been started, and its handles.
func (c *cluster) client() (*host.Client, methods) {
	c.t.Helper()
	on, o, _ := c.options(host.Options{Name: "client"})
	client := host.NewClientOn(on, o)
	var m methods
	var errs [4]error
	m.add, errs[0] = host.MethodOf[time.Duration, int64](client, "counter", "add")
	m.retried, errs[1] = host.MethodOf[time.Duration, int64](client, "counter", "retried", host.Idempotent)
	m.hang, errs[2] = host.MethodOf[time.Duration, string](client, "counter", "hang")
	errs[3] = client.Start(c.t.Context())
	if err := errors.Join(errs[:]...); err != nil {
		c.t.Fatal(err)
	}
	return client, m
}

func (n *node) owner(t *testing.T) placement.Owner {
	t.Helper()
	owner, ok := n.Member()
	if !ok {
		t.Fatal("it is not a member")
	}
	return owner
}

// ownedBy calls ids until one is active at the node, and returns that id.
func (c *cluster) ownedBy(n *node) string {
	c.t.Helper()
	for i := range 1000 {
		id := fmt.Sprint("id ", i)
		if _, err := n.add.Call(c.t.Context(), id, 0); err != nil {
			c.t.Fatal(err)
		}
		if h, ok := c.home.Holder(placement.Key{Kind: "counter", ID: id}); ok && h.Owner == n.owner(c.t) {
			return id
		}
	}
	c.t.Fatal("the member has none of 1000 keys")
	return ""
}

// accountActor is a bank account that writes its record under its fence.
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
		x.record = x.records.New(account.Account{Owner: a.Key().ID})
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
		"hostile": faults.HostileT,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))
				test(t, wrap(t, enginetest.InProcess(t)))
			})
		})
	}
}

// lent is an engine that several values of persistable.DB share: closing one of them does not close it.
type lent struct{ kv.Database }

func (lent) Close() error { return nil }

// ledger is what the actors of a test share: what they have done, by id.
type ledger struct {
	mu     sync.Mutex
	counts map[string]int
	active map[string]int // activations at once
	owners map[string]placement.Owner
	opened int
	faults []error
}

func newLedger() *ledger {
	return &ledger{counts: make(map[string]int), active: make(map[string]int), owners: make(map[string]placement.Owner)}
}

func (l *ledger) do(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.do(func() {
		for _, err := range l.faults {
			t.Error(err)
		}
	})
}

// counter is the actor of the tests.
type counter struct {
	ledger *ledger
	a      *host.Activation
}

func (l *ledger) open(_ context.Context, a *host.Activation) (*counter, error) {
	l.do(func() {
		id := a.Key().ID
		l.opened++
		l.owners[id] = a.Owner()
		if l.active[id]++; l.active[id] > 1 {
			l.faults = append(l.faults, fmt.Errorf("%s has %d activations", id, l.active[id]))
		}
	})
	return &counter{l, a}, nil
}

func (c *counter) Deactivate(context.Context) error {
	c.ledger.do(func() { c.ledger.active[c.a.Key().ID]-- })
	return nil
}

// add counts a call, which takes a while, and returns the epoch.
func (c *counter) add(ctx context.Context, takes time.Duration) (int64, error) {
	time.Sleep(takes)
	c.ledger.do(func() { c.ledger.counts[c.a.Key().ID]++ })
	return c.a.Epoch(), nil
}

// hang waits for the end of its context, and longer if asked to.
func (c *counter) hang(ctx context.Context, longer time.Duration) (string, error) {
	c.ledger.do(func() { c.ledger.counts[c.a.Key().ID]++ })
	<-ctx.Done()
	time.Sleep(longer)
	return "", context.Cause(ctx)
}
