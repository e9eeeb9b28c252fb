// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/kinds"
)

// letters are the stores of records with times, as a program and as tools have them.
type letters struct {
	*testing.T
	db *persistable.DB
	*kinds.LetterStore
	tool  *dynamic.Store
	began time.Time
}

func newLetters(t *testing.T) *letters {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}}))
	t.Cleanup(func() { db.Close() })
	s := &letters{T: t, db: db, LetterStore: kinds.LetterStoreOf(db), began: time.Now().Round(0)}
	check(t, s.Create(ctx, &kinds.Letter{ID: 100}))
	s.tool = open(t, db, "stamped")
	return s
}

// old is a time that no write of the test sets.
var old = time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)

// isNow reports whether a time was set by the test.
func (s *letters) isNow(t time.Time) bool {
	return !t.Before(s.began) && !t.After(time.Now()) && t.Location() == time.UTC
}

// record returns a record of the tools.
func (s *letters) record(v *kinds.Letter) *dynamic.Record {
	text := fmt.Sprintf(`{"ID":%d,"CreatedAt":%q,"UpdatedAt":%q,"Text":%q}`, v.ID, v.CreatedAt.Format(time.RFC3339Nano), v.UpdatedAt.Format(time.RFC3339Nano), v.Text)
	return must[*dynamic.Record](s)(s.tool.ParseRecord([]byte(text)))
}

// TestStampsOfCreations: a record that is created has the time of that, and keeps times that it has already.
func TestStampsOfCreations(t *testing.T) {
	s := newLetters(t)
	id := int64(0)
	for verb, create := range map[string]func(v *kinds.Letter) error{
		"Create":       func(v *kinds.Letter) error { return s.Create(ctx, v) },
		"CreateWithID": func(v *kinds.Letter) error { return s.CreateWithID(ctx, v.ID, v) },
		"CreateMany": func(v *kinds.Letter) error {
			return s.CreateMany(ctx, []*kinds.Letter{v}, persistable.BatchOptions{})
		},
		"in a transaction": func(v *kinds.Letter) error {
			return s.db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Create(ctx, v) })
		},
		"by a tool": func(v *kinds.Letter) error { return s.tool.Create(ctx, s.record(v)) },
	} {
		id += 2
		check(t, create(&kinds.Letter{ID: id}))
		if v := must[*kinds.Letter](t)(s.Get(ctx, id)); !s.isNow(v.CreatedAt) || v.UpdatedAt != v.CreatedAt {
			t.Errorf("%s: %+v", verb, v)
		}
		check(t, create(&kinds.Letter{ID: id + 1, CreatedAt: old, UpdatedAt: old.Add(1)}))
		if v := must[*kinds.Letter](t)(s.Get(ctx, id+1)); v.CreatedAt != old || v.UpdatedAt != old.Add(1) {
			t.Errorf("%s of times that are given: %+v", verb, v)
		}
	}
	sound(t, s.Indexes())
}

// TestStampsOfWrites: a write over a stored record sets the time of the last write, and never that of the creation,
// whatever the caller's copy says.
func TestStampsOfWrites(t *testing.T) {
	s := newLetters(t)
	stale := func(id int64) *kinds.Letter { return &kinds.Letter{ID: id, UpdatedAt: old, Text: "new"} }
	id := int64(0)
	for verb, write := range map[string]func(v *kinds.Letter) error{
		"Save":         func(v *kinds.Letter) error { return s.Save(ctx, v) },
		"SaveExisting": func(v *kinds.Letter) error { return s.SaveExisting(ctx, v) },
		"SaveMany":     func(v *kinds.Letter) error { return s.SaveMany(ctx, []*kinds.Letter{v}, persistable.BatchOptions{}) },
		"SaveIfUnchanged": func(v *kinds.Letter) error {
			return s.SaveIfUnchanged(ctx, must[*kinds.Letter](t)(s.Get(ctx, v.ID)), v)
		},
		"in a transaction": func(v *kinds.Letter) error {
			return s.db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Save(ctx, v) })
		},
		"Update": func(v *kinds.Letter) error {
			return s.Update(ctx, v.ID, func(stored *kinds.Letter) error { *stored = *v; return nil })
		},
		"by a tool": func(v *kinds.Letter) error { return s.tool.Save(ctx, s.record(v)) },
	} {
		for _, created := range []time.Time{{}, old.Add(time.Hour)} {
			id++
			check(t, s.Create(ctx, &kinds.Letter{ID: id, CreatedAt: old, UpdatedAt: old}))
			v := stale(id)
			v.CreatedAt = created
			check(t, write(v))
			if v := must[*kinds.Letter](t)(s.Get(ctx, id)); v.CreatedAt != old || !s.isNow(v.UpdatedAt) || v.Text != "new" {
				t.Errorf("%s over a record, by a copy with %v: %+v", verb, created, v)
			}
		}
	}
	if n := must[int](t)(s.ByCreatedAt(old).Count(ctx)); n != int(id) {
		t.Errorf("the index has %d records of %d", n, id)
	}
	sound(t, s.Indexes())
}

// TestStampsOfNewRecords: a Save that creates the record sets the times, too, and keeps a given time of the creation.
func TestStampsOfNewRecords(t *testing.T) {
	s := newLetters(t)
	check(t, s.Save(ctx, &kinds.Letter{ID: 1}))
	check(t, s.Save(ctx, &kinds.Letter{ID: 2, CreatedAt: old, UpdatedAt: old}))
	if v := must[*kinds.Letter](t)(s.Get(ctx, 1)); !s.isNow(v.CreatedAt) || !s.isNow(v.UpdatedAt) {
		t.Errorf("%+v", v)
	}
	if v := must[*kinds.Letter](t)(s.Get(ctx, 2)); v.CreatedAt != old || !s.isNow(v.UpdatedAt) {
		t.Errorf("%+v", v)
	}
}

// TestStampsOfOldRecords: a record from before the option has no time of its creation, and gets none.
func TestStampsOfOldRecords(t *testing.T) {
	s := newLetters(t)
	for id := range int64(3) {
		check(t, s.CreateWithID(ctx, id+1, &kinds.Letter{Text: "x"}))
	}
	check(t, s.db.Engine().Transact(ctx, func(tx kv.Transaction) error { return removeTimes(ctx, tx) }))
	check(t, s.Update(ctx, 1, func(v *kinds.Letter) error { v.Text = "y"; return nil }))
	check(t, s.Save(ctx, &kinds.Letter{ID: 2, Text: "y"}))
	check(t, s.tool.Save(ctx, s.record(&kinds.Letter{ID: 3, Text: "y"})))
	for id := range int64(3) {
		if v := must[*kinds.Letter](t)(s.Get(ctx, id+1)); !v.CreatedAt.IsZero() || !s.isNow(v.UpdatedAt) || v.Text != "y" {
			t.Errorf("%+v", v)
		}
	}
}

// removeTimes leaves the id and the text of each record.
func removeTimes(ctx context.Context, tx kv.Transaction) error {
	pairs, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(ctx)
	for _, pair := range pairs {
		text := []byte{4<<3 | 2, 1, 'x'}
		if bytes.Contains(pair.Key, []byte("\x02R\x00\x02Letter\x00")) && bytes.HasSuffix(pair.Value, text) {
			tx.Set(pair.Key, append(pair.Value[:format.HeaderSize+2], text...))
		}
	}
	return err
}
