// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// largeOrders is the JSON of orders that are more than a transaction can hold.
func largeOrders(t *testing.T, editor string) string {
	t.Helper()
	var text strings.Builder
	for i := range 140 {
		line, err := json.Marshal(map[string]any{
			"ID": fmt.Sprint(1000 + i), "Number": fmt.Sprintf("L-%d", i), "Editor": editor, "Photo": bytes.Repeat([]byte{byte(i)}, 90_000),
		})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	return text.String()
}

// TestPutMoreThanATransactionHolds writes 12 MB of records: new ones, over those that exist, and
// either. Each time they are divided into transactions of about 1 MB, and not into one for
// each record.
func TestPutMoreThanATransactionHolds(t *testing.T) {
	ctx, counter := context.Background(), faults.NewCounter(enginetest.Open(t))
	db, err := persistable.Open(ctx, counter, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	orders := bazaar.OrderStoreOf(db, "tenant-1")
	if err := orders.CreateWithID(ctx, 1, &bazaar.Order{TenantID: "tenant-1", Number: "first"}); err != nil {
		t.Fatal(err)
	}
	s, err := dynamic.Open(ctx, db, orders.Path(), "")
	if err != nil {
		t.Fatal(err)
	}
	for editor, f := range map[string]putFlags{"ann": {create: true}, "bob": {existing: true}, "cy": {}} {
		if editor != "ann" {
			putRecords(t, s, putFlags{}, largeOrders(t, "before "+editor))
		} else if _, err := orders.DeleteWhere(ctx, orders.Scan(), persistable.BatchOptions{}); err != nil {
			t.Fatal(err)
		}
		text := largeOrders(t, editor)
		counts, err := counter.Measure(func() error { return putRecords(t, s, f, text) })
		if err != nil || counts.Commits < 9 || counts.Commits > 50 {
			t.Errorf("%+v: %d commits, %v", f, counts.Commits, err)
		}
		if n, err := orders.ByEditor(&editor).Count(ctx); err != nil || n != 140 {
			t.Errorf("%+v: %d records, %v", f, n, err)
		}
	}
}

// putRecords runs the verb over a text.
func putRecords(t *testing.T, s *dynamic.Store, f putFlags, text string) error {
	t.Helper()
	var out bytes.Buffer
	c := &shell.Console{Streams: shell.Streams{Out: &out, Err: &out}}
	return f.put(context.Background(), c, s, strings.NewReader(text))
}

// TestStopped: the error of a verb that stops says how many records it has changed, how many
// more it may have changed, and why it has stopped.
func TestStopped(t *testing.T) {
	cause := errors.New("no answer")
	for _, test := range []struct {
		n    int
		err  error
		want string
	}{
		{1, cause, "1 record written: no answer"},
		{70, &persistable.PartialError{Type: "T", Done: 20, Err: cause}, "70 records written: no answer"},
		{2, &persistable.PartialError{Type: "T", Done: 2, Uncertain: 9, Err: cause}, "2 records written, and up to 9 more may be, as the outcome of a commit is unknown: no answer"},
	} {
		if err := stopped(test.n, "written", test.err); err.Error() != test.want || !errors.Is(err, cause) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// TestRemoveRecordsThatWereShown: the verb removes the records that it has counted, even one that does
// not fulfil the condition any more, and not one that fulfils it only after the question, even
// if that one comes first.
func TestRemoveRecordsThatWereShown(t *testing.T) {
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	engine := enginetest.Open(t)
	check(bazaar.Seed(ctx, engine))
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(err)
	defer db.Close()
	s, err := dynamic.Open(ctx, db, []string{"counters"}, "")
	check(err)
	var out bytes.Buffer
	c := &shell.Console{Streams: shell.Streams{Out: &out, Err: &out}}
	w := whereFlags{where: "Value >= 1", filterLimit: persistable.DefaultFilterLimit}
	ids, err := w.find(ctx, c, s)
	check(err)
	if len(ids) != 3 {
		t.Fatalf("%v", ids)
	}
	counters := bazaar.CounterStoreOf(db)
	check(counters.CreateWithID(ctx, -9, &bazaar.Counter{Name: "late", Value: 5}))
	check(counters.SaveExisting(ctx, &bazaar.Counter{ID: 2, Name: "orders"}))
	check(removeRecords(ctx, c, s, ids))
	left, err := s.Scan().Slice(ctx)
	check(err)
	if len(left) != 1 || left[0].ID().String() != "-9" || out.String() != "3 records removed\n" {
		t.Errorf("%v are left: %q", left, &out)
	}
}
