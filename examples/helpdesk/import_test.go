// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// commits is an engine that lets a test decide about each commit.
type commits struct {
	kv.Database
	mu   sync.Mutex
	n    int
	fate func(n int, commit func() error) error // of the n-th commit, from 1
}

// begin counts from one again, and returns how many commits there were.
func (c *commits) begin(fate func(n int, commit func() error) error) (were int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	were, c.n, c.fate = c.n, 0, fate
	return were
}

func (c *commits) next() (int, func(int, func() error) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n, c.fate
}

func (c *commits) Begin() (kv.Transaction, error) {
	tx, err := c.Database.Begin()
	if err != nil {
		return nil, err
	}
	return &commitsTx{tx, c}, nil
}

func (c *commits) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := c.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

type commitsTx struct {
	kv.Transaction
	engine *commits
}

func (t *commitsTx) Commit(ctx context.Context) error {
	n, fate := t.engine.next()
	if fate == nil {
		return t.Transaction.Commit(ctx)
	}
	return fate(n, func() error { return t.Transaction.Commit(ctx) })
}

func (t *commitsTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

var (
	errUnknown = kv.NewError(kv.CodeCommitUnknownResult, "the acknowledgement was lost")
	errBroken  = kv.NewError(kv.CodeInternalError, "the database is away")
)

// interruption is what happens at one commit of an import and after it.
type interruption struct {
	name string
	fate func(gone func(), commit func() error) error // of the commit
	away bool                                         // all later commits fail
	made int                                          // how many of the interrupted imports have made the tenant
}

var interruptions = []interruption{
	{name: "the client goes when it is done", fate: func(gone func(), commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		gone()
		return errUnknown
	}, made: 1},
	{name: "the client goes when it is not done", fate: func(gone func(), _ func() error) error {
		gone()
		return errUnknown
	}, made: 1},
	{name: "the database goes when it is done", fate: func(_ func(), commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		return errBroken
	}, away: true, made: 1},
	{name: "the database goes when it is not done", fate: func(func(), func() error) error { return errBroken }, away: true},
}

// fateAt returns the fates of the commits of an import that is interrupted at one of them.
func (i interruption) fateAt(at int, gone func()) func(n int, commit func() error) error {
	return func(n int, commit func() error) error {
		switch {
		case n == at:
			return i.fate(gone, commit)
		case n > at && i.away:
			return errBroken
		}
		return commit()
	}
}

// TestImportInterrupted interrupts an import at each of its commits. Each tenant that the registry
// has afterwards is whole, and nothing else is left if the database is still there.
func TestImportInterrupted(t *testing.T) {
	from := openService(t, enginetest.Open(t))
	from.addTenant(t, "acme").send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	stream := from.operator(t).send("GET", "/tenants/acme/export", "").want(http.StatusOK).body
	for _, i := range interruptions {
		t.Run(i.name, func(t *testing.T) {
			engine := &commits{Database: enginetest.Open(t)}
			s := openService(t, engine)
			if _, err := s.db.IDs().Next(t.Context()); err != nil { // the machine id is leased before the first import
				t.Fatal(err)
			}
			made, at := 0, 1
			for reached := true; reached; at++ {
				tenant := fmt.Sprint("acme-", at)
				ctx, gone := context.WithCancel(t.Context())
				engine.begin(i.fateAt(at, gone))
				key, err := s.registry.Import(ctx, tenant, strings.NewReader(stream))
				reached = engine.begin(nil) >= at
				gone()
				if registered(t, s, tenant) {
					made++
					checkImported(t, s, tenant, key, err)
				} else if err == nil {
					t.Errorf("commit %d: the import is done, but there is no tenant", at)
				}
				if !i.away {
					checkDirectories(t, s.service, made)
				}
			}
			if made != i.made+1 { // and the last import, which has fewer commits
				t.Errorf("%d tenants were made, want %d", made, i.made+1)
			}
		})
	}
}

// TestImportWithoutID imports while no ID can be made, because the clock is before their epoch:
// a directory that has the ID zero as its name would be one of several tenants.
func TestImportWithoutID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestService(t, enginetest.InProcess(t))
		if _, err := s.registry.Import(t.Context(), "acme", strings.NewReader("")); !errors.Is(err, persistable.ErrNoID) {
			t.Errorf("an import without an ID: %v", err)
		}
	})
}

func registered(t *testing.T, s *testService, tenant string) bool {
	t.Helper()
	for name, err := range s.registry.Names(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if name == tenant {
			return true
		}
	}
	return false
}

// checkImported checks that an imported tenant is whole.
func checkImported(t *testing.T, s *testService, tenant, key string, err error) {
	t.Helper()
	if err != nil {
		key = s.operator(t).send("POST", "/tenants/"+tenant+"/key", "").want(http.StatusOK).text("key")
	}
	got, _ := (&caller{t, s.api, key}).send("GET", "/v1/search?q=printer", "").subjects()
	checkSubjects(t, tenant, got, "The printer is on fire")
}
