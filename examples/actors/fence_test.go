// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/examples/internal/process"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement/host"
)

// What a test adds to the environment of a bank.
const (
	stallVariable    = "ACTORS_TEST_STALL"    // a file: the first change of an account waits until it is there
	unfencedVariable = "ACTORS_TEST_UNFENCED" // accounts write without the fence
)

// stall has the first change of an account wait for a file, after the account has decided what to
// write and before its transaction begins.
func (b *bank) stall(file string) {
	if file == "" {
		return
	}
	var once sync.Once
	b.beforeWrite = func(account string) {
		once.Do(func() {
			b.writeReport("stalled", account)
			for errors.Is(stat(file), fs.ErrNotExist) {
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
}

func stat(file string) error {
	_, err := os.Stat(file)
	return err
}

// unfence has accounts write without the fence.
func (b *bank) unfence() {
	b.under = func(db *persistable.DB, _ leasefdb.Fence) *persistable.DB { return db }
}

// TestFence suspends a process in the middle of a change of an account, until another process has the
// account and has changed it. Under the fence the write of the first one is refused when it
// wakes up. Without it, the audit finds what that write destroys.
func TestFence(t *testing.T) {
	if !process.CanPause {
		t.Log("this system cannot suspend a process")
		return
	}
	for name, faults := range map[string][]string{"fenced": nil, "unfenced": {
		`bank-1#\d+ wrote under epoch \d+ after bank-2#\d+ had written under epoch`, // on a slow machine not their first incarnations
		"it did not know of a change before it",
		"the accounts have",
	}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStalled(t, name == "unfenced")
			err := s.overtake(t)
			if faults == nil && err != nil {
				t.Error(err)
			}
			for _, fault := range faults {
				if err == nil || !regexp.MustCompile(fault).MatchString(err.Error()) {
					t.Errorf("%v, want %q", err, fault)
				}
			}
		})
	}
}

// stalledShow is a show with two accounts and two banks. The first bank stalls.
type stalledShow struct {
	*show
	file     string
	unfenced bool
}

func newStalled(t *testing.T, unfenced bool) *stalledShow {
	ctx, engine := t.Context(), enginetest.InProcess(t)
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	o := short
	o.accounts = 2
	show, err := newShow(t.Output(), engine, db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(show.events) })
	s := &stalledShow{show, filepath.Join(t.TempDir(), "go on"), unfenced}
	if s.ledger, err = openLedger(ctx, engine); err != nil {
		t.Fatal(err)
	}
	if err := s.openAccounts(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// overtake lets the second bank overtake the first, and returns what the audit finds.
func (s *stalledShow) overtake(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	return serve(ctx, s.engine, func(p place) error {
		s.place = p
		defer s.endAll()
		if err := s.startFirst(ctx); err != nil {
			return err
		}
		client, err := newClient(ctx, s.engine, s.lease)
		if err != nil {
			return err
		}
		defer client.Stop(context.WithoutCancel(ctx))
		if s.tellers, err = newTellers(client, s.db.IDs(), accountNames(2)); err != nil {
			return err
		}
		for _, step := range []func(context.Context) error{
			func(ctx context.Context) error { return s.stallAndSuspend(ctx, client) },
			s.tellers.moveOnce, // the second bank gets both accounts
			s.wake,
		} {
			if err := step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		s.endAll()
		return s.auditAccounts(ctx)
	})
}

func (s *stalledShow) startFirst(ctx context.Context) (err error) {
	env := []string{stallVariable + "=" + s.file}
	if s.unfenced {
		env = append(env, unfencedVariable+"=1")
	}
	if s.banks[bankNames[0]], err = startBank(bankNames[0], s.place, s.lease, s.events, env...); err != nil {
		return err
	}
	return s.awaitMembers(ctx, bankNames[0])
}

// stallAndSuspend makes an account active on the first bank, suspends that in the middle of a
// change, and waits until the second bank is the only member.
func (s *stalledShow) stallAndSuspend(ctx context.Context, client *host.Client) error {
	first, second := bankNames[0], bankNames[1]
	once, err := host.MethodOf[Withdrawal, Balance](client, kind, withdraw) // not to be repeated
	if err != nil {
		return err
	}
	go once.Call(ctx, s.tellers.names[0], Withdrawal{Transfer: stalledTransfer, To: s.tellers.names[1], Amount: opening / 2})
	if err := s.told.awaitReport(ctx, fact{first, "stalled"}); err != nil {
		return err
	}
	if err := s.startNamed(second); err != nil {
		return err
	}
	if err := s.awaitMembers(ctx, first, second); err != nil {
		return err
	}
	if err := s.banks[first].Pause(); err != nil {
		return err
	}
	return s.awaitMembers(ctx, second)
}

// stalledTransfer is the transfer with the stalling withdrawal: more than others move at once.
const stalledTransfer idgen.ID = 1

// wake lets the first bank go on, and waits for what becomes of its write.
func (s *stalledShow) wake(ctx context.Context) error {
	if err := os.WriteFile(s.file, nil, 0o600); err != nil {
		return err
	}
	if err := s.banks[bankNames[0]].Resume(); err != nil {
		return err
	}
	if !s.unfenced {
		return s.told.awaitReport(ctx, fact{bankNames[0], "refused"})
	}
	for written := false; !written && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		err := s.ledger.each(ctx, s.engine, 1000, func(e entry) { written = written || e.Transfer == stalledTransfer })
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
