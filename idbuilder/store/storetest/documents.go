// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/seed"
)

func object(n int) []byte { return fmt.Appendf(nil, `{"n":%d}`, n) }

// testDocuments checks a document from its creation to its deletion.
func testDocuments(f *fixture) {
	s, other := f.openStore(), f.openRaw()
	_, err := s.Get(f.Context(), store.Configs, "orders")
	f.wantError(err, store.ErrNotFound)
	f.check(s.Delete(f.Context(), store.Configs, "orders", 3))
	_, err = s.Put(f.Context(), store.Configs, store.Document{Key: "orders", Value: object(0), Version: 1})
	f.wantError(err, store.ErrConflict)

	value := []byte(`{"big":9223372036854775807,"list":[1,"zwei",null,true],"text":"line\n\"Straße\" 日本 \\ <&>","a":{"b":{}}}`)
	first := f.putDocument(s, store.Configs, store.Document{Key: "orders", Type: "increment", Value: value})
	d := f.getDocument(other, store.Configs, "orders")
	f.wantSameJSON(d.Value, value)
	if d.Version != first || d.Type != "increment" || !d.Expires.IsZero() {
		f.Errorf("got %+v", d)
	}
	if d.Created.IsZero() || d.Updated.Before(d.Created) || time.Since(d.Created).Abs() > 24*time.Hour {
		f.Errorf("created %v, updated %v", d.Created, d.Updated)
	}
	_, err = other.Put(f.Context(), store.Configs, store.Document{Key: "orders", Value: object(2)})
	f.wantError(err, store.ErrConflict)
	second := f.putDocument(other, store.Configs, store.Document{Key: "orders", Type: "formatted", Value: object(2), Version: first})
	_, err = s.Put(f.Context(), store.Configs, store.Document{Key: "orders", Value: object(3), Version: first})
	f.wantError(err, store.ErrConflict)
	changed := f.getDocument(s, store.Configs, "orders")
	f.wantSameJSON(changed.Value, object(2))
	if changed.Type != "formatted" || !changed.Created.Equal(d.Created) || changed.Updated.Before(d.Updated) {
		f.Errorf("first %+v, then %+v", d, changed)
	}
	_, err = s.Get(f.Context(), store.Tokens, "orders") // kinds are apart
	f.wantError(err, store.ErrNotFound)
	f.wantError(s.Delete(f.Context(), store.Configs, "orders", first), store.ErrConflict)
	f.check(s.Delete(f.Context(), store.Configs, "orders", second))
	_, err = other.Get(f.Context(), store.Configs, "orders")
	f.wantError(err, store.ErrNotFound)
}

// testDocumentRaces lets exactly one of many callers create, replace and delete.
func testDocumentRaces(f *fixture) {
	stores := []store.Store{f.openStore(), f.openRaw()}
	race := func(what string, call func(s store.Store, i int) error) {
		var won atomic.Int64
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				f.countWinner(&won, call(stores[i%2], i))
			})
		}
		group.Wait()
		f.wantOneWinner(what, &won)
	}
	for range 2 {
		version := int64(0)
		put := func(s store.Store, i int) error {
			_, err := s.Put(f.Context(), store.Leases, store.Document{Key: "a", Value: object(i), Version: version})
			return err
		}
		race("create", put)
		version = f.getDocument(stores[0], store.Leases, "a").Version
		race("replace", put)
		version = f.getDocument(stores[0], store.Leases, "a").Version
		race("replace or delete", func(s store.Store, i int) error {
			if i < 7 {
				return put(s, i)
			}
			err := s.Delete(f.Context(), store.Leases, "a", version)
			if _, gone := s.Get(f.Context(), store.Leases, "a"); err == nil && gone == nil {
				f.Error("the deleted document still exists")
			}
			return err
		})
		if d, err := stores[0].Get(f.Context(), store.Leases, "a"); err == nil {
			f.check(stores[0].Delete(f.Context(), store.Leases, "a", d.Version))
		}
	}
}

// testVersions checks that versions grow over deletions.
func testVersions(f *fixture) {
	s := f.openStore()
	last := int64(0)
	for round := range 4 {
		version := f.putDocument(s, store.Tokens, store.Document{Key: "a", Value: object(round)})
		for range round {
			version = f.putDocument(s, store.Tokens, store.Document{Key: "a", Value: object(round), Version: version})
		}
		if version <= last {
			f.Errorf("round %d: the version is %d, after %d", round, version, last)
		}
		last = version
		f.check(s.Delete(f.Context(), store.Tokens, "a", version))
		s = f.openRaw()
	}
	if _, err := s.Put(f.Context(), store.Tokens, store.Document{Key: "a", Value: object(0), Version: last}); !errors.Is(err, store.ErrConflict) {
		f.Errorf("put over a deletion: %v", err)
	}
}

// testLarge checks values up to the largest, and that a smaller value replaces a larger one
// completely.
func testLarge(f *fixture) {
	s := f.openStore()
	r := seed.Rand(f)
	version := int64(0)
	for _, size := range []int{store.MaxValue, 3, store.MaxValue / 2, 100_000, 90_008, 99_999} {
		text := make([]byte, max(0, size-len(`{"t":""}`)))
		for i := range text {
			text[i] = "abcdefghijklmnop"[r.IntN(16)]
		}
		value := fmt.Appendf(nil, `{"t":"%s"}`, text)
		version = f.putDocument(s, store.Settings, store.Document{Key: "large", Value: value, Version: version})
		f.wantSameJSON(f.getDocument(s, store.Settings, "large").Value, value)
	}
	f.check(s.Delete(f.Context(), store.Settings, "large", version))
	f.putDocument(s, store.Settings, store.Document{Key: "large", Value: object(1)})
	list, err := s.List(f.Context(), store.Settings, store.ListOptions{})
	if err != nil || len(list) != 1 {
		f.Fatalf("%d documents, %v", len(list), err)
	}
	f.wantSameJSON(list[0].Value, object(1))
}

// testExpiry checks documents that expire: kept until then, replaceable after.
func testExpiry(f *fixture) {
	s := f.openStore()
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	version := f.putDocument(s, store.Replies, store.Document{Key: "later", Value: object(1), Expires: at})
	if d := f.getDocument(s, store.Replies, "later"); d.Expires.Sub(at).Abs() > time.Second {
		f.Errorf("it expires %v, want %v", d.Expires, at)
	}
	version = f.putDocument(s, store.Replies, store.Document{Key: "later", Value: object(2), Version: version})
	if d := f.getDocument(s, store.Replies, "later"); !d.Expires.IsZero() || d.Version != version {
		f.Errorf("got %+v", d)
	}
	last := int64(0)
	for i := range 40 { // expired ones may be gone, and may be there
		for _, key := range []string{"past", fmt.Sprint("past", i)} {
			d, err := s.Get(f.Context(), store.Replies, key)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				f.Fatal(err)
			}
			version := f.putDocument(s, store.Replies, store.Document{Key: key, Value: object(i), Version: d.Version, Expires: time.Now().Add(-time.Hour)})
			if key == "past" && version <= last {
				f.Errorf("the version went from %d to %d", last, version)
			}
			if key == "past" {
				last = version
			}
		}
	}
	f.putDocument(s, store.Replies, store.Document{Key: "far", Value: object(1), Expires: time.Date(2261, 1, 2, 3, 4, 5, 0, time.UTC)})
	list, err := s.List(f.Context(), store.Replies, store.ListOptions{Prefix: "later"})
	if err != nil || len(list) != 1 {
		f.Errorf("%d documents, %v", len(list), err)
	}
}

// testKeys checks that each name is a document of its own, in the order of bytes.
func testKeys(f *fixture) {
	s := f.openStore()
	for i, key := range names {
		f.putDocument(s, store.Workers, store.Document{Key: key, Value: object(i)})
	}
	for i, key := range names {
		f.wantSameJSON(f.getDocument(s, store.Workers, key).Value, object(i))
	}
	list, err := s.List(f.Context(), store.Workers, store.ListOptions{})
	f.check(err)
	if got, want := keysOf(list), slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
		f.Errorf("the list has\n%q, want\n%q", got, want)
	}
	for _, d := range list {
		f.wantSameJSON(d.Value, object(slices.Index(names, d.Key)))
		f.check(s.Delete(f.Context(), store.Workers, d.Key, d.Version))
	}
	if list, err := s.List(f.Context(), store.Workers, store.ListOptions{}); err != nil || len(list) > 0 {
		f.Errorf("deleted, and in the list: %q, %v", keysOf(list), err)
	}
}

func keysOf(list []store.Document) (keys []string) {
	for _, d := range list {
		keys = append(keys, d.Key)
	}
	return keys
}

// testList compares the documents in a list with those of Get.
func testList(f *fixture) {
	s := f.openStore()
	if list, err := s.List(f.Context(), store.Configs, store.ListOptions{}); err != nil || len(list) > 0 {
		f.Errorf("an empty list: %v, %v", list, err)
	}
	f.putDocument(s, store.Configs, store.Document{Key: "b", Type: "snowflake", Value: object(2)})
	f.putDocument(s, store.Configs, store.Document{Key: "a", Type: "increment", Value: object(1), Expires: time.Now().Add(time.Hour)})
	f.putDocument(s, store.Tokens, store.Document{Key: "c", Value: object(3)})
	list, err := s.List(f.Context(), store.Configs, store.ListOptions{})
	if err != nil || len(list) != 2 {
		f.Fatalf("%v, %v", list, err)
	}
	for i, key := range []string{"a", "b"} {
		if want := f.getDocument(s, store.Configs, key); !reflect.DeepEqual(list[i], want) {
			f.Errorf("the list has %+v, get %+v", list[i], want)
		}
	}
}

// testListRandom compares lists with a model.
func testListRandom(f *fixture) {
	s, r := f.openStore(), seed.Rand(f)
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString([]string{"a", "B", "b", "é", "_", "%", "~", " ", "/"}[r.IntN(9)])
		}
		return b.String()
	}
	model := map[string]bool{}
	for range 40 {
		key := text(1 + r.IntN(4))
		if !model[key] {
			f.putDocument(s, store.Configs, store.Document{Key: key, Value: object(1)})
		}
		model[key] = true
	}
	for range 60 {
		o := store.ListOptions{Prefix: text(r.IntN(3)), After: text(r.IntN(3)), Limit: r.IntN(12)}
		if o.Prefix != "" && r.IntN(8) == 0 {
			o.Prefix = o.Prefix[:len(o.Prefix)-1] // perhaps in the middle of a character
		}
		got, err := s.List(f.Context(), store.Configs, o)
		if want := listed(model, o); err != nil || !slices.Equal(keysOf(got), want) {
			f.Fatalf("%+v: got %q, %v, want %q", o, keysOf(got), err, want)
		}
	}
	f.checkPages(s, r, model)
}

// listed returns the keys that a list must have.
func listed(model map[string]bool, o store.ListOptions) (want []string) {
	for key := range model {
		if strings.HasPrefix(key, o.Prefix) && (o.After == "" || key > o.After) {
			want = append(want, key)
		}
	}
	slices.Sort(want)
	return want[:min(len(want), o.Most())]
}
