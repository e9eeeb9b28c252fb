// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestFollow: what a program changes while the command follows is shown, deletions too,
// nothing from before and nothing twice; the end of the context is a regular end.
func TestFollow(t *testing.T) {
	engine, err := embedded.OpenMemory()
	check(t, err)
	defer func() { check(t, engine.Close()) }()
	db, err := persistable.Open(t.Context(), engine)
	check(t, err)
	defer func() { check(t, db.Close()) }()
	orders := bazaar.OrderStoreOf(db, "tenant-1")
	create := func(number string) *bazaar.Order {
		o := orders.New(bazaar.Order{Number: number})
		check(t, orders.Create(t.Context(), o))
		return o
	}
	create("before")

	o := feedOptions{follow: true, since: feedNow}
	since, err := o.start(t.Context(), db)
	check(t, err)
	o.since = since.String() // so that the test's first change comes after it
	lines, end := follow(t, db, o)
	expect := func(words ...string) {
		t.Helper()
		expectLine(t, lines, words...)
	}
	first := create("A-1")
	expect(`"Number":"A-1"`)
	first.Number = "A-2"
	check(t, orders.Save(t.Context(), first))
	expect(first.ID.String(), `"Number":"A-2"`)
	check(t, orders.Delete(t.Context(), first.ID))
	expect(first.ID.String(), "deleted")
	create("last")
	expect(`"Number":"last"`)
	end()
}

// TestFollowWaits counts what the command asks of the engine while nothing changes: nothing,
// for almost thirty intervals of WatchPoll. A change is shown at once.
func TestFollowWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, err := embedded.OpenMemory()
		check(t, err)
		counter := faults.NewCounter(engine)
		db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
		check(t, err)
		create := func(id idgen.ID) {
			orders := bazaar.OrderStoreOf(db, "tenant-1")
			check(t, orders.CreateWithID(t.Context(), id, &bazaar.Order{TenantID: "tenant-1", Number: id.String()}))
		}
		create(1)
		readOnly, err := persistable.Open(t.Context(), counter, persistable.Options{ReadOnly: true, WatchPoll: time.Minute, IDs: persistable.IDOptions{Off: true}})
		check(t, err)
		lines, end := follow(t, readOnly, feedOptions{follow: true, since: feedBeginning})
		expectLine(t, lines)
		for id := idgen.ID(2); id < 5; id++ {
			synctest.Wait() // until it waits for the next change
			before := counter.Counts()
			time.Sleep(29 * time.Minute)
			if c := counter.Counts().Sub(before); c.Begins > 0 || c.Watches > 0 {
				t.Errorf("%d transactions and %d watches while nothing changes", c.Begins, c.Watches)
			}
			created := time.Now()
			create(id)
			expectLine(t, lines, id.String())
			if took := time.Since(created); took > 0 {
				t.Errorf("the change was shown after %v", took)
			}
		}
		end()
		check(t, errors.Join(readOnly.Close(), db.Close(), engine.Close()))
	})
}

// expectLine reads a line, which must have these words.
func expectLine(t *testing.T, lines *bufio.Reader, words ...string) {
	t.Helper()
	line, err := lines.ReadString('\n')
	check(t, err)
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Fatalf("%q lacks %s", line, word)
		}
	}
}

// follow begins to follow the orders, and returns the output. end is Ctrl-C: it waits for
// the end and checks it.
func follow(t *testing.T, db *persistable.DB, o feedOptions) (lines *bufio.Reader, end func()) {
	s, err := dynamic.Open(t.Context(), db, []string{"tenants", "tenant-1", "orders"}, "")
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	c := shell.NewConsole("kazahana", nil, shell.Streams{Out: write, Err: io.Discard})
	done := make(chan error, 1)
	go func() { done <- tailFeed(ctx, c, db, s, o) }()
	return bufio.NewReader(read), func() {
		cancel()
		check(t, <-done)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
