// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// The kind of the actors, and their methods.
const (
	kind     = "account"
	withdraw = "withdraw"
	deposit  = "deposit"
	balance  = "balance"
)

// ErrInsufficient says that an account has less than the withdrawal. Callers in other processes
// get the same error.
var ErrInsufficient = errors.New("actors: the account has less than that")

func init() { host.RegisterError("actors.insufficient", ErrInsufficient) }

// Withdrawal asks an account for money for another. It may be repeated.
type Withdrawal struct {
	Transfer idgen.ID
	To       string
	Amount   int64
}

// Deposit gives an account the money that was withdrawn for it. It may be repeated.
type Deposit struct{ Transfer idgen.ID }

// Balance is the balance of an account.
type Balance struct{ Amount int64 }

// account is an actor. It handles one message at a time, and has a copy of its record in memory:
// a read needs no transaction, a change needs one. The copy is correct as long as no other
// process has the account. Changes do not rely on that: each commits under the activation's
// fence, which refuses it if another process has the account by now.
type account struct {
	*bank
	activation *host.Activation
	owner      placement.Owner // this process
	db         *persistable.DB // under the activation's fence
	record     *Account        // nil: not known
}

// loadRecord reads the record, unless it is in memory.
func (a *account) loadRecord(ctx context.Context) (err error) {
	if a.record == nil {
		a.record, err = AccountStoreOf(a.db).ByName(ctx, a.activation.Key().ID)
	}
	return err
}

// Balance returns the balance of the account.
func (a *account) Balance(ctx context.Context, _ struct{}) (Balance, error) {
	if err := a.loadRecord(ctx); err != nil {
		return Balance{}, err
	}
	return Balance{a.record.Balance}, nil
}

// Withdraw takes money out of the account: it creates the transfer. If the transfer exists
// already, this was done before.
func (a *account) Withdraw(ctx context.Context, w Withdrawal) (Balance, error) {
	return a.changeBalance(ctx, w.Transfer, func(ctx context.Context, transfers *TransferStore) (amount int64, err error) {
		_, err = transfers.Get(ctx, w.Transfer)
		if !errors.Is(err, persistable.ErrNotFound) {
			return 0, err
		}
		if a.record.Balance < w.Amount {
			return 0, ErrInsufficient
		}
		t := &Transfer{From: a.record.Name, To: w.To, Amount: w.Amount, State: Open}
		return -w.Amount, transfers.CreateWithID(ctx, w.Transfer, t)
	})
}

// Deposit puts money into the account: it marks the transfer as done. If that is done already, so
// is the deposit.
func (a *account) Deposit(ctx context.Context, d Deposit) (Balance, error) {
	return a.changeBalance(ctx, d.Transfer, func(ctx context.Context, transfers *TransferStore) (amount int64, err error) {
		t, err := transfers.Get(ctx, d.Transfer)
		switch {
		case err != nil || t.State == Done:
			return 0, err
		case t.To != a.record.Name:
			return 0, fmt.Errorf("actors: transfer %s is for %s, not for %s", t.ID, t.To, a.record.Name)
		}
		t.State = Done
		return t.Amount, transfers.Save(ctx, t)
	})
}

// changeBalance does one half of a transfer: in one transaction, under the fence, the transfer's record,
// the account's and the ledger are written. The step returns by how much the account changes; 0
// means that the half was done before.
func (a *account) changeBalance(ctx context.Context, transfer idgen.ID, step func(context.Context, *TransferStore) (int64, error)) (Balance, error) {
	if err := a.loadRecord(ctx); err != nil {
		return Balance{}, err
	}
	a.beforeWrite(a.record.Name)
	var next Account // zero: nothing changed
	// Nothing here checks whether the activation's context has ended: a process that was suspended
	// notices that too late, so the fence alone must be enough.
	ctx = context.WithoutCancel(ctx)
	err := a.db.Transact(ctx, func(tx persistable.Tx) error {
		next = Account{}
		amount, err := step(ctx, TransferStoreOf(a.db).In(tx))
		if err != nil || amount == 0 {
			return err
		}
		next = *a.record
		next.Balance += amount
		a.ledger.append(tx.KV(), entry{next.Name, a.owner, a.activation.Epoch(), transfer, amount, next.Balance})
		return AccountStoreOf(a.db).In(tx).Save(ctx, &next)
	})
	return a.adoptRecord(ctx, &next, err)
}

// adoptRecord makes the committed record the copy in memory. If the outcome of the commit is not
// certain, it makes the next call read the record again.
func (a *account) adoptRecord(ctx context.Context, next *Account, err error) (Balance, error) {
	a.record = nil
	if err != nil {
		a.noteRefused(a.activation, err)
		return Balance{}, err
	}
	if next.Name != "" {
		a.record = next
	}
	return a.Balance(ctx, struct{}{})
}
