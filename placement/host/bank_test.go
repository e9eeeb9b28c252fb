// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
	"github.com/kazahana-db/kazahana/placement/host/internal/account"
)

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
