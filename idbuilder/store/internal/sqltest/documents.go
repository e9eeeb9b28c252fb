// SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
)

var object = []byte(`{"a":1}`)

// testFloor deletes a document while another process, which has read the floor of versions,
// waits before it inserts the document again: the version does not go back.
func testFloor(t *testing.T, h Home) {
	at, s := h.newDatabase(t)
	version, err := s.Put(t.Context(), store.Tokens, store.Document{Key: "a", Value: object})
	check(t, err)
	for range 5 {
		version, err = s.Put(t.Context(), store.Tokens, store.Document{Key: "a", Value: object, Version: version})
		check(t, err)
	}
	for _, statement := range h.HoldInsertions {
		h.Execute(t, at, statement)
	}
	release := h.Hold(t, at)
	created := make(chan error, 1)
	go func() {
		_, err := h.Open(t, at, Options{}).Put(t.Context(), store.Tokens, store.Document{Key: "a", Value: object})
		created <- err
	}()
	h.awaitHeld(t, at)
	deleted := make(chan error, 1)
	go func() { deleted <- h.Open(t, at, Options{}).Delete(t.Context(), store.Tokens, "a", version) }()
	select { // without the shared lock the deletion ends here; with it, after the creation
	case err := <-deleted:
		deleted <- err
	case <-time.After(100 * time.Millisecond):
	}
	release()
	check(t, <-deleted)
	if err := <-created; err != nil && !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	h.Execute(t, at, h.FreeInsertions)
	if d, err := s.Get(t.Context(), store.Tokens, "a"); err == nil && d.Version <= version {
		t.Errorf("the version went from %d, which was deleted, to %d", version, d.Version)
	}
	again, err := s.Put(t.Context(), store.Tokens, store.Document{Key: "b", Value: object})
	if err != nil || again <= version {
		t.Errorf("a document created afterwards has the version %d, %v", again, err)
	}
}

// waiting has queries that find statements waiting for the lock of Hold.
var waiting = map[string]string{
	"postgres": "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
	"mysql":    "SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'",
}

// testSweep checks that documents which have expired go, and others stay.
func testSweep(t *testing.T, h Home) {
	at, s := h.newDatabase(t)
	put := func(key string, expires time.Time) {
		t.Helper()
		_, err := s.Put(t.Context(), store.Replies, store.Document{Key: key, Value: object, Expires: expires})
		check(t, err)
	}
	_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "config", Value: object, Expires: time.Now().Add(-time.Hour)})
	check(t, err)
	put("just", time.Now().Add(-10*time.Second))
	put("never", time.Time{})
	for i := range 40 {
		put(fmt.Sprint("past", i), time.Now().Add(-time.Hour))
	}
	for i := range 16 {
		put(fmt.Sprint("later", i), time.Now().Add(time.Hour))
	}
	keys := h.Rows(t, at, "SELECT doc_key FROM id_documents")
	for _, key := range []string{"just", "never", "config", "later0"} {
		if !slices.Contains(keys, key) {
			t.Errorf("%q is gone", key)
		}
	}
	if n := len(keys); n != 19 {
		t.Errorf("%d documents are left, want 19: %q", n, keys)
	}
}

// testByHand changes configurations and sequences without the store.
func testByHand(t *testing.T, h Home) {
	at, s := h.newDatabase(t)
	version, err := s.Put(t.Context(), store.Configs, store.Document{Key: "gone", Type: "increment", Value: object})
	check(t, err)
	for range 3 {
		version, err = s.Put(t.Context(), store.Configs, store.Document{Key: "gone", Type: "increment", Value: object, Version: version})
		check(t, err)
	}
	h.Execute(t, at, "DELETE FROM id_configs WHERE key_name = 'gone'")
	h.Execute(t, at, `INSERT INTO id_configs (key_name, id_type, config_json) VALUES ('new', 'increment', '{"base": 1000}')`)
	if _, err := s.Put(t.Context(), store.Configs, store.Document{Key: "gone", Value: object, Version: version}); !errors.As(err, new(*store.CorruptError)) {
		t.Errorf("a change of a configuration with half of its rows: %v, want *store.CorruptError", err)
	}
	check(t, s.Init(t.Context()))
	d, err := s.Get(t.Context(), store.Configs, "new")
	if err != nil || d.Type != "increment" || d.Version < 1 {
		t.Errorf("a row inserted by hand: %+v, %v", d, err)
	}
	check(t, s.Delete(t.Context(), store.Configs, "new", d.Version))
	h.Execute(t, at, "INSERT INTO id_sequences (key_name, current_value) VALUES ('first', 1000), ('second', 2000)") // version 0
	if r, err := s.Reserve(within(t), "first", ten); err != nil || r.From != 1000 || r.To != 1010 || r.Version < 1 {
		t.Errorf("a sequence inserted by hand: %+v, %v", r, err)
	}
	q, err := s.Sequence(t.Context(), "second")
	if err != nil || q.Value != 2000 || q.Version < 1 {
		t.Errorf("a sequence inserted by hand: %+v, %v", q, err)
	}
	check(t, s.SetSequence(t.Context(), "second", 3000, q.Version))
	again, err := s.Put(t.Context(), store.Configs, store.Document{Key: "gone", Type: "increment", Value: object})
	if err != nil || again <= version {
		t.Errorf("created again: version %d after %d, %v", again, version, err)
	}
}

// testFormats reads tables and rows that earlier versions made, and makes them. Examples are
// statements of SQL.
func testFormats(t *testing.T, h Home) {
	expires := time.Date(2100, 1, 2, 3, 4, 5, 6e6, time.UTC)
	formats.Check(t, formats.Format{
		Name: h.Example,
		Write: func(t *testing.T) string {
			at, s := h.newDatabase(t)
			for range 2 {
				_, err := s.Reserve(within(t), "orders", ten)
				check(t, err)
			}
			_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "orders", Type: "increment", Value: []byte(`{"base": 1000}`)})
			check(t, err)
			_, err = s.Put(t.Context(), store.Replies, store.Document{Key: "r", Value: []byte(`{"text": "it's é\n"}`), Expires: expires})
			check(t, err)
			gone, err := s.Put(t.Context(), store.Tokens, store.Document{Key: "gone", Value: object})
			check(t, err)
			check(t, s.Delete(t.Context(), store.Tokens, "gone", gone))
			_, err = s.Advance(t.Context())
			check(t, err)
			return h.dump(t, at)
		},
		Mask: func(_ *testing.T, example string) string {
			return regexp.MustCompile(`FROM_UNIXTIME\([0-9.]+\)|'20[2-9][^']*\+00'`).ReplaceAllString(example, "<time>")
		},
		Read: func(t *testing.T, example string) {
			at := h.NewURL(t, h.Shared(t))
			for statement := range strings.Lines(example) {
				h.Execute(t, at, strings.ReplaceAll(statement, "{collation}", "utf8mb4_nopad_bin")) // MariaDB's
			}
			s := h.Open(t, at, Options{})
			check(t, s.Init(t.Context()))
			d, err := s.Get(t.Context(), store.Configs, "orders")
			created := d.Created.Format("2006-01-02 15:04:05.000000")
			if h.scheme(at) == "mysql" {
				created = fmt.Sprintf("(%d.%06d)", d.Created.Unix(), d.Created.Nanosecond()/1000)
			}
			if err != nil || d.Type != "increment" || string(d.Value) != `{"base": 1000}` || d.Version != 1 || !strings.Contains(example, created) {
				t.Errorf("the configuration is %+v, %v", d, err)
			}
			if d, err = s.Get(t.Context(), store.Replies, "r"); err != nil || string(d.Value) != `{"text": "it's é\n"}` || d.Version != 1 || !d.Expires.Equal(expires) {
				t.Errorf("the reply is %+v, %v", d, err)
			}
			if q, err := s.Sequence(t.Context(), "orders"); err != nil || q.Value != 20 || q.Version != 2 {
				t.Errorf("the sequence is %+v, %v", q, err)
			}
			if n, err := s.Revision(t.Context()); err != nil || n != 1 {
				t.Errorf("the revision is %d, %v", n, err)
			}
			if version, err := s.Put(t.Context(), store.Tokens, store.Document{Key: "again", Value: object}); err != nil || version != 2 {
				t.Errorf("a new token has the version %d, want one after that of the deleted token: %v", version, err)
			}
		},
	})
}
