// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

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
	db, err := persistable.OpenWith(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var want size
	err = db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		want = size{Exact: true}
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
		for i := range mostCounted + 1 {
			tx.Set(tuple.AppendInt(indexRange(prefix, "I", "Thing_Many").Begin, int64(i)), nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := measure(ctx, db, []string{"things"}, "Thing_Name"); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got, err := measure(ctx, db, []string{"things"}, "Thing_Many"); got.Exact || got.Entries < sampleSize || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
