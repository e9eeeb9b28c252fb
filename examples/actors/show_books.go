// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
)

// openAccounts opens the accounts that do not exist yet.
func (s *show) openAccounts(ctx context.Context) error {
	for names := accountNames(s.accounts); len(names) > 0; {
		n := min(len(names), 100)
		if err := s.openSome(ctx, names[:n]); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// openSome opens accounts in one transaction.
func (s *show) openSome(ctx context.Context, names []string) error {
	store := AccountStoreOf(s.db)
	made := make([]*Account, len(names))
	for i, name := range names {
		made[i] = store.New(Account{Name: name, Balance: opening})
	}
	return s.db.Transact(ctx, func(tx persistable.Tx) error {
		accounts := store.In(tx)
		var entries []entry
		for _, account := range made {
			_, err := accounts.ByName(ctx, account.Name)
			if err == nil {
				continue
			}
			if !errors.Is(err, persistable.ErrNotFound) {
				return err
			}
			if err := accounts.Create(ctx, account); err != nil {
				return err
			}
			entries = append(entries, entry{Account: account.Name, Amount: opening, Balance: opening})
		}
		s.ledger.append(tx.KV(), entries...)
		return nil
	})
}

// finishOpen does the second half of transfers that an earlier run, which was killed, has left
// open.
func (s *show) finishOpen(ctx context.Context) error {
	open, err := TransferStoreOf(s.db).ByState(Open).Slice(ctx)
	if err != nil || len(open) == 0 {
		return err
	}
	s.printLine("an earlier run has left %d transfers half done: they are finished now", len(open))
	for _, t := range open {
		if err := s.tellers.finishTransfer(ctx, t.ID, t.To); err != nil {
			return err
		}
	}
	return nil
}

// auditAccounts reads the ledger and the records when all banks have ended.
func (s *show) auditAccounts(ctx context.Context) error {
	a := newAudit()
	if err := s.ledger.each(ctx, s.engine, 5000, a.addEntry); err != nil {
		return err
	}
	var accounts []*Account
	for account, err := range AccountStoreOf(s.db).Scan().All(ctx) {
		if err != nil {
			return err
		}
		accounts = append(accounts, account)
	}
	s.printLine("audit: %s", a.summary())
	if err := a.compareRecords(accounts, s.tellers.acknowledged, opening*int64(len(accounts))); err != nil {
		return fmt.Errorf("the audit has found faults:\n%w", err)
	}
	s.printLine("verdict: the sum is %d as before, each transfer was done once, and each account had one owner at a time", opening*len(accounts))
	return nil
}

// opening is the first balance of an account.
const opening = 1000

func accountNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%05d", i)
	}
	return names
}
