// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestListPassesOverDamagedHeaders: a store with a damaged header hides no other, and the error names
// it.
func TestListPassesOverDamagedHeaders(t *testing.T) {
	w := clitest.NewWorld(t)
	w.Must(bazaar.Seed(t.Context(), w.Engine.Database))
	d, err := w.DB.Layer().Open(t.Context(), w.Engine, []string{"counters"})
	w.Must(err)
	w.Must(w.Engine.Database.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set(append(d.Reserve().Begin, headers.Key("Counter")...), []byte("damaged"))
		return nil
	}))
	cmd, out := &cobra.Command{}, &strings.Builder{}
	database.AddTypeFlag(cmd)
	err = listIndexes(t.Context(), cmd, &shell.Console{Streams: shell.Streams{Out: out, Err: t.Output()}}, w.DB, nil)
	if err == nil || !strings.Contains(err.Error(), "Counter in counters") {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(out.String(), "Order_Number_unique") {
		t.Errorf("the stores after it are not listed:\n%s", out)
	}
}

// TestBuildWhatWasShown: an index that is gone when the question is answered is not built,
// nor is another one of that name by itself.
func TestBuildWhatWasShown(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	engine := enginetest.Open(t)
	check(bazaar.Seed(t.Context(), engine))
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(err)
	defer db.Close()
	s, err := dynamic.Open(t.Context(), db, []string{"counters"}, "")
	check(err)
	store := &indexTarget{s, s.Path(), s.Schema()}
	if ix, err := store.find("Counter_Name"); err == nil {
		t.Fatalf("the name without _unique finds %+v", ix)
	}
	c := shell.NewConsole("kazahana", nil, shell.Streams{Out: t.Output(), Err: t.Output()})
	err = buildIndex(t.Context(), c, store, "Counter_Name", persistable.BuildOptions{Workers: 1, Share: 1})
	if coded, ok := errors.AsType[*shell.ExitError](err); !ok || coded.Code != 4 {
		t.Errorf("the index that is gone: %v", err)
	}
	check(buildIndex(t.Context(), c, store, "Counter_Name_unique", persistable.BuildOptions{Workers: 1, Share: 1}))
}

// TestEndEarly: a verb that has failed on its way writes the token with which it goes on;
// one that has no token writes none.
func TestEndEarly(t *testing.T) {
	failed := errors.New("no answer")
	for _, test := range []struct {
		json        bool
		token, want string
	}{
		{true, "AQ", "{\"next\":\"AQ\"}\n"},
		{false, "AQ", "there is more: --token AQ\n"},
		{true, "", ""},
	} {
		var errs strings.Builder
		c := &shell.Console{Streams: shell.Streams{Err: &errs}, JSON: test.json}
		if err := endEarly(c, test.token, failed); !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "ended early: ") {
			t.Errorf("%+v: %v", test, err)
		}
		if errs.String() != test.want {
			t.Errorf("%+v: %q", test, &errs)
		}
	}
}

// TestSizesAreCounted: an engine's estimate of a few kilobytes is wrong by a factor of ten, so
// small indexes are counted. A large one is estimated, never below what was read.
func TestSizesAreCounted(t *testing.T) {
	ctx := context.Background()
	db, err := persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var want indexSize
	err = db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		want = indexSize{Exact: true}
		d, err := db.Layer().CreateOrOpen(ctx, tx, []string{"things"})
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return err
		}
		r := indexRange(prefix, "I", "Thing_Name")
		for i := range 111 {
			key := tuple.AppendInt(r.Begin[:len(r.Begin):len(r.Begin)], int64(i))
			tx.Set(key, nil)
			want.Entries, want.Bytes = want.Entries+1, want.Bytes+int64(len(key))
		}
		for i := range mostEntriesCounted + 1 {
			tx.Set(tuple.AppendInt(indexRange(prefix, "I", "Thing_Many").Begin, int64(i)), nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := measureIndex(ctx, db, []string{"things"}, "Thing_Name"); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got, err := measureIndex(ctx, db, []string{"things"}, "Thing_Many"); got.Exact || got.Entries < sampleSize || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestViolationNamesFields: a violation is shown with the name of its index in keys, although
// another index has the same name, and with each value next to its field, as records show it.
func TestViolationNamesFields(t *testing.T) {
	schema := &dynamic.Schema{
		Fields: []dynamic.Field{{Name: "Room", Kind: "string"}, {Name: "At", Kind: "*time"}, {Name: "For", Kind: "duration"}, {Name: "No", Kind: "int64"}},
		Indexes: []dynamic.Index{
			{Name: "Booking_Room", KeyName: "Booking_Room"},
			{Name: "Booking_Room", KeyName: "Booking_Room_unique", Unique: true},
		},
	}
	v := persistable.Violation{
		Index: "Booking_Room_unique", Fields: []string{"Room", "At", "For", "No", "Address.City"},
		Values: tuple.Tuple{"a \"b\"", int64(1772359200000000005), int64(90_000_000_000), int64(7), nil}, ID: int64(9), Owner: int64(1),
	}
	want := []string{`Booking_Room_unique: the records 1 and 9 have Room = "a \"b\"", At = 2026-03-01T10:00:00.000000005Z, For = 1m30s, No = 7, Address.City = nil; 1 is in the index`}
	if got := newViolation(schema, v).Lines(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
