// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// TestList lists more tokens than a page of the store has, without those that
// have expired.
func TestList(t *testing.T) {
	s := storetest.Memory(t)
	watch, err := revision.New(s, revision.Options{Validity: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	a, err := token.New(s, watch, token.Options{Expiry: time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := a.MakeAdmin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Key(t.Context(), admin, "expired"); err != nil {
		t.Fatal(err)
	}
	begun := now
	now = now.Add(time.Hour)
	want := []token.Info{{Created: begun}}
	for i := range 1100 {
		key := fmt.Sprintf("k%04d", i)
		if _, err := a.Key(t.Context(), admin, key); err != nil {
			t.Fatal(err)
		}
		want = append(want, token.Info{Key: key, Created: now, Expires: now.Add(time.Hour)})
	}
	if got, err := a.List(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d tokens, %v; want %d", len(got), err, len(want))
	}
}

// TestListPassesOver: tokens that are damaged, or a newer version's, hide no others, and are named.
func TestListPassesOver(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, s, token.Options{})
		for _, key := range []string{"a", "b", "c", "d"} {
			p.key(admin, key)
		}
		for key, value := range map[string]string{"a": `{"tokens":[{"hash":"AA=="}]}`, "c": `{"tokens":[],"limit":7}`} {
			d, err := s.Get(t.Context(), store.Tokens, key)
			if err != nil {
				t.Fatal(err)
			}
			d.Value = []byte(value)
			if _, err := s.Put(t.Context(), store.Tokens, d); err != nil {
				t.Fatal(err)
			}
		}
		list, err := p.List(t.Context())
		if len(list) != 2 || list[0].Key != "b" || list[1].Key != "d" {
			t.Errorf("the list is %+v", list)
		}
		if !store.IsUnreadable(err) || !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), `tokens of "a"`) || !strings.Contains(err.Error(), `tokens of "c"`) {
			t.Errorf("the error is %v", err)
		}
	})
}
