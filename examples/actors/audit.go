// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/placement"
)

// audit reads the ledger, entry by entry, and then compares it with the records. It does not
// rely on the reports of processes.
type audit struct {
	accounts  map[string]*history
	transfers map[idgen.ID]*halves
	entries   int
	faults    []error
}

// history has the ledger's entries about an account.
type history struct {
	balance     int64
	owner       placement.Owner
	epoch       int64
	activations int
	owners      map[placement.Owner]bool
}

// halves has the ledger's entries about a transfer.
type halves struct{ withdrawn, deposited int64 }

func newAudit() *audit {
	return &audit{accounts: map[string]*history{}, transfers: map[idgen.ID]*halves{}}
}

func (a *audit) addFault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Errorf(format, args...))
}

// addEntry takes the next entry of the ledger.
func (a *audit) addEntry(e entry) {
	a.entries++
	h := a.accounts[e.Account]
	if h == nil {
		a.addOpening(e)
		return
	}
	a.checkOwner(h, e)
	if h.balance+e.Amount != e.Balance {
		a.addFault("%s: %s, under epoch %d, made %d of %d by adding %d: it did not know of a change before it",
			e.Account, e.Owner, e.Epoch, e.Balance, h.balance, e.Amount)
	}
	h.balance = e.Balance
	a.checkHalf(e)
}

// addOpening takes the opening of an account.
func (a *audit) addOpening(e entry) {
	if e.Epoch != 0 || e.Amount != e.Balance {
		a.addFault("%s: its first entry, under epoch %d, is not its opening", e.Account, e.Epoch)
	}
	a.accounts[e.Account] = &history{balance: e.Balance, owners: map[placement.Owner]bool{}}
}

// checkOwner checks that the account has one owner at a time: that its epochs only grow, and that
// each is one owner's.
func (a *audit) checkOwner(h *history, e entry) {
	switch {
	case e.Epoch < h.epoch:
		a.addFault("%s: %s wrote under epoch %d after %s had written under epoch %d", e.Account, e.Owner, e.Epoch, h.owner, h.epoch)
		return
	case e.Epoch == h.epoch && e.Owner != h.owner:
		a.addFault("%s: %s and %s both wrote under epoch %d", e.Account, e.Owner, h.owner, e.Epoch)
	case e.Epoch > h.epoch:
		h.activations++
	}
	h.owner, h.epoch = e.Owner, e.Epoch
	h.owners[e.Owner] = true
}

// checkHalf checks that each half of a transfer is done once, the withdrawal first.
func (a *audit) checkHalf(e entry) {
	t := a.transfers[e.Transfer]
	if t == nil {
		t = &halves{}
		a.transfers[e.Transfer] = t
	}
	switch {
	case e.Amount < 0 && t.withdrawn == 0:
		t.withdrawn = -e.Amount
	case e.Amount > 0 && t.deposited == 0 && t.withdrawn == e.Amount:
		t.deposited = e.Amount
	default:
		a.addFault("transfer %s: %s changed %s by %d when %d had been withdrawn and %d deposited",
			e.Transfer, e.Owner, e.Account, e.Amount, t.withdrawn, t.deposited)
	}
}

// compareRecords compares the ledger with the records, and with the transfers that tellers know to
// be done.
func (a *audit) compareRecords(accounts []*Account, acknowledged []idgen.ID, sum int64) error {
	var total int64
	for _, account := range accounts {
		total += account.Balance
		if h := a.accounts[account.Name]; h == nil || h.balance != account.Balance {
			a.addFault("%s: its record says %d, which the ledger does not", account.Name, account.Balance)
		}
	}
	if len(accounts) != len(a.accounts) {
		a.addFault("there are %d accounts, and the ledger has %d", len(accounts), len(a.accounts))
	}
	if total != sum {
		a.addFault("the accounts have %d, and had %d when they were opened", total, sum)
	}
	for id, t := range a.transfers {
		if t.deposited == 0 {
			a.addFault("transfer %s: %d were withdrawn and never deposited", id, t.withdrawn)
		}
	}
	for _, id := range acknowledged {
		if t := a.transfers[id]; t == nil || t.deposited == 0 {
			a.addFault("transfer %s was acknowledged, and is not in the ledger", id)
		}
	}
	return a.faultsError()
}

// shownFaults is how many faults an error lists.
const shownFaults = 10

// faultsError returns the faults, the first ones in words.
func (a *audit) faultsError() error {
	if len(a.faults) <= shownFaults {
		return errors.Join(a.faults...)
	}
	return errors.Join(append(a.faults[:shownFaults:shownFaults], fmt.Errorf("and %d faults more", len(a.faults)-shownFaults))...)
}

// summary describes how many owners the accounts have had.
func (a *audit) summary() string {
	activations, most, moved := 0, 0, 0
	for _, h := range a.accounts {
		activations += h.activations
		most = max(most, len(h.owners))
		if len(h.owners) > 1 {
			moved++
		}
	}
	return fmt.Sprintf("%d entries of %d accounts, written by %d activations; %d accounts had several owners, one after the other, up to %d",
		a.entries, len(a.accounts), activations, moved, most)
}
