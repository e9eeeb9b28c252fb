// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/revision"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/idbuilder/token"
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
