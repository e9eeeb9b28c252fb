// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/http2"
)

// The variables of a bank's environment, besides its place.
const (
	bankVariable  = "ACTORS_BANK" // its name, which makes the process a bank
	leaseVariable = "ACTORS_LEASE"
)

func isBank() bool { return os.Getenv(bankVariable) != "" }

// bank is a process that has accounts.
type bank struct {
	name   string
	host   *host.Host
	db     *persistable.DB
	ledger ledger

	mu  sync.Mutex
	out io.Writer

	// What tests replace.
	under       func(*persistable.DB, leasefdb.Fence) *persistable.DB
	beforeWrite func(account string)
}

func newBank() *bank {
	return &bank{
		name:        os.Getenv(bankVariable),
		under:       func(db *persistable.DB, f leasefdb.Fence) *persistable.DB { return db.Under(f) },
		beforeWrite: func(string) {},
	}
}

// serveAccounts has accounts until the input ends, and then hands them back.
func (b *bank) serveAccounts(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	b.out = out
	engine, err := openPlace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if b.db, err = persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.db.Close()) }()
	if b.ledger, err = openLedger(ctx, engine); err != nil {
		return err
	}
	if err := b.joinCluster(ctx, engine); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in)
	return b.host.Stop(context.WithoutCancel(ctx))
}

// joinCluster joins the cluster. This is all that a program needs to have actors.
func (b *bank) joinCluster(ctx context.Context, engine kv.Database) error {
	lease, err := time.ParseDuration(os.Getenv(leaseVariable))
	if err != nil {
		return err
	}
	transport, err := http2.Listen("127.0.0.1:0", http2.Options{})
	if err != nil {
		return err
	}
	b.host, err = host.New(engine, host.Options{
		Name: b.name, Transport: transport, Lease: lease,
		Logger: slog.New(slog.DiscardHandler), // the show says what happens
	})
	if err != nil {
		return err
	}
	accounts, err := host.Register(b.host, kind, b.openAccount)
	if err != nil {
		return err
	}
	_, failed := host.Handle(accounts, withdraw, (*account).Withdraw, host.Idempotent)
	err = errors.Join(err, failed)
	_, failed = host.Handle(accounts, deposit, (*account).Deposit, host.Idempotent)
	err = errors.Join(err, failed)
	_, failed = host.Handle(accounts, balance, (*account).Balance)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return b.startHost(ctx)
}

// startHost starts the host, and again if it loses its membership before it is ready, as on a
// machine that is too busy to renew a lease in time.
func (b *bank) startHost(ctx context.Context) error {
	for {
		err := b.host.Start(ctx)
		if !errors.Is(err, placement.ErrActivationLost) || ctx.Err() != nil {
			return err
		}
	}
}

// noteRefused tells the first process that the fence has refused a write.
func (b *bank) noteRefused(a *host.Activation, err error) {
	if errors.Is(err, placement.ErrActivationLost) {
		b.writeReport("refused", fmt.Sprintf("%s under epoch %d", a.Key(), a.Epoch()))
	}
}

// writeReport tells the first process what happens, in one line.
func (b *bank) writeReport(what, details string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintln(b.out, what, strings.ReplaceAll(details, "\n", " "))
}

// openAccount makes the actor of an account.
func (b *bank) openAccount(ctx context.Context, a *host.Activation) (*account, error) {
	account := &account{bank: b, activation: a, owner: a.Owner(), db: b.under(b.db, a.Fence())}
	return account, account.loadRecord(ctx)
}
