// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestLayoutDocument makes the example of docs/layout.md and compares every key and
// value of the directory.
func TestLayoutDocument(t *testing.T) {
	db := enginetest.Open(t)
	storeState(t, db)
	if diff := cmp.Diff(documented(t), stored(t, db)); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// storeState stores the example of the document.
func storeState(t *testing.T, db kv.Database) {
	t.Helper()
	now := time.Unix(1767225600, 0)
	s, err := kvstore.New(db, kvstore.Options{Now: func() time.Time { return now }})
	check(t, err)
	check(t, s.Init(t.Context()))
	_, err = s.Reserve(t.Context(), "orders", store.Reservation{Start: 1000, Step: 1, Count: 100, Bound: 1 << 62})
	check(t, err)
	_, err = s.Put(t.Context(), store.Configs, store.Document{Key: "orders", Type: "increment", Value: []byte(`{"base":1000}`)})
	check(t, err)
	_, err = s.Put(t.Context(), store.Tokens, store.Document{Key: "gone", Value: []byte(`{}`)})
	check(t, err)
	check(t, s.Delete(t.Context(), store.Tokens, "gone", 1))
	_, err = s.Put(t.Context(), store.Replies, store.Document{Key: "r", Value: []byte(`{}`), Expires: now.Add(time.Second)})
	check(t, err)
	_, err = s.Advance(t.Context())
	check(t, err)
}

// TestFormats reads the state of ID services that earlier versions stored, and stores it.
func TestFormats(t *testing.T) {
	mark := regexp.MustCompile(`02(?:[2-7][0-9a-f]){26}00`)
	layer := contents.Layer{
		Name:  "idbuilder/kvstore",
		Open:  enginetest.Open,
		Write: storeState,
		Mask:  func(line string) string { return mark.ReplaceAllString(line, "<mark>") },
		Read: func(t *testing.T, db kv.Database) {
			at := time.Unix(1767225600, 0)
			s, err := kvstore.New(db, kvstore.Options{Now: func() time.Time { return at }})
			check(t, err)
			check(t, s.Init(t.Context()))
			d, err := s.Get(t.Context(), store.Configs, "orders")
			if err != nil || d.Type != "increment" || string(d.Value) != `{"base":1000}` || d.Version != 1 || !d.Created.Equal(at) {
				t.Errorf("the configuration is %+v, %v", d, err)
			}
			if d, err = s.Get(t.Context(), store.Replies, "r"); err != nil || string(d.Value) != "{}" || !d.Expires.Equal(at.Add(time.Second)) {
				t.Errorf("the reply is %+v, %v", d, err)
			}
			if q, err := s.Sequence(t.Context(), "orders"); err != nil || q != (store.Sequence{Value: 1100, Version: 1}) {
				t.Errorf("the sequence is %+v, %v", q, err)
			}
			if n, err := s.Revision(t.Context()); err != nil || n != 1 {
				t.Errorf("the revision is %d, %v", n, err)
			}
			if version, err := s.Put(t.Context(), store.Tokens, store.Document{Key: "again", Value: []byte(`{}`)}); err != nil || version != 2 {
				t.Errorf("a new token has the version %d, want one after that of the deleted token: %v", version, err)
			}
		},
	}
	formats.Check(t, layer.Format())
}

// documented returns the pairs of the document, without spaces and comments.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/layout.md")
	check(t, err)
	_, block, found := strings.Cut(string(text), "```idbuilder\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block idbuilder")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}

// stored returns the pairs of the directory; marks are random.
func stored(t *testing.T, db kv.Database) (all []string) {
	t.Helper()
	prefix := prefixOf(t, db)
	mark := regexp.MustCompile(`02(?:[2-7][0-9a-f]){26}00`)
	for _, pair := range pairs(t, db) {
		line := "<dir>" + hex.EncodeToString(pair.Key[len(prefix):]) + "=" + hex.EncodeToString(pair.Value)
		all = append(all, mark.ReplaceAllString(line, "02<random>00"))
	}
	return all
}

// pairs returns everything in the directory.
func pairs(t *testing.T, db kv.Database) []kv.KeyValue {
	t.Helper()
	all, err := kv.ReadTransact(t.Context(), db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefixOf(t, db)).Selectors(), kv.RangeOptions{}).Slice(t.Context())
	})
	check(t, err)
	return all
}

// set writes a pair of the directory.
func set(t *testing.T, db kv.Database, key, value []byte) {
	t.Helper()
	check(t, db.Transact(t.Context(), func(tx kv.Transaction) error {
		if value == nil {
			tx.Clear(key)
		} else {
			tx.Set(key, value)
		}
		return nil
	}))
}

// TestDamage checks that an error names each pair with a value that this package did not write.
func TestDamage(t *testing.T) {
	db := enginetest.Open(t)
	s := open(t, db)
	check(t, s.Init(t.Context()))
	_, err := s.Reserve(t.Context(), "orders", store.Reservation{Step: 1, Count: 1, Bound: 9})
	check(t, err)
	large := fmt.Appendf(nil, `{"t":"%s"}`, strings.Repeat("x", 200_000))
	_, err = s.Put(t.Context(), store.Configs, store.Document{Key: "orders", Value: large})
	check(t, err)
	_, err = s.Advance(t.Context())
	check(t, err)
	for _, pair := range pairs(t, db) {
		for _, value := range [][]byte{{}, {0}, {0xff}, tuple.AppendInt(nil, 99), append(pair.Value[:len(pair.Value):len(pair.Value)], 1), pair.Value[:len(pair.Value)/2]} {
			set(t, db, pair.Key, value)
			var corrupt *store.CorruptError
			_, err := s.Reserve(t.Context(), "orders", store.Reservation{Step: 1, Count: 1, Bound: 9})
			_, revision := s.Revision(t.Context())
			_, list := s.List(t.Context(), store.Configs, store.ListOptions{})
			if err := errors.Join(err, revision, list); !errors.As(err, &corrupt) && !errors.Is(err, store.ErrNewer) {
				t.Errorf("%x = %x: %v", pair.Key, value, err)
			}
			set(t, db, pair.Key, pair.Value)
		}
	}
	for _, pair := range pairs(t, db)[1:3] { // chunks
		set(t, db, pair.Key, nil)
		var corrupt *store.CorruptError
		if _, err := s.Get(t.Context(), store.Configs, "orders"); !errors.As(err, &corrupt) {
			t.Errorf("without %x: %v", pair.Key, err)
		}
		set(t, db, pair.Key, pair.Value)
	}
}

// TestEmptied checks that a directory that was emptied, or removed, gives nothing.
func TestEmptied(t *testing.T) {
	db := enginetest.Open(t)
	s := open(t, db)
	check(t, s.Init(t.Context()))
	reserve := func() error {
		_, err := s.Reserve(t.Context(), "orders", store.Reservation{Step: 1, Count: 1, Bound: 9})
		return err
	}
	check(t, reserve())
	check(t, db.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.ClearRange(kv.PrefixRange(prefixOf(t, db)))
		return nil
	}))
	if err := reserve(); !errors.Is(err, store.ErrNoSchema) {
		t.Errorf("emptied: %v", err)
	}
	check(t, directoryRemove(t, db))
	if err := reserve(); !errors.Is(err, store.ErrNoSchema) {
		t.Errorf("removed: %v", err)
	}
}

// TestSweep checks that expired documents go, with all of their pairs.
func TestSweep(t *testing.T) {
	db := enginetest.Open(t)
	now := time.Unix(1767225600, 0)
	s, err := kvstore.New(db, kvstore.Options{Now: func() time.Time { return now }})
	check(t, err)
	check(t, s.Init(t.Context()))
	for i := range 64 {
		_, err := s.Put(t.Context(), store.Replies, store.Document{Key: fmt.Sprint(i), Value: []byte(`{}`), Expires: now.Add(time.Second)})
		check(t, err)
		now = now.Add(10 * time.Second)
	}
	if n := len(pairs(t, db)); n > 2*(16+8)+2 {
		t.Errorf("%d pairs are left", n)
	}
}
