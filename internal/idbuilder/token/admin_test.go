// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// TestMakeAdmin: of 8 processes that start at once, one makes the admin token.
func TestMakeAdmin(t *testing.T) {
	for range 10 {
		bubble(t, func(t *testing.T, s store.Store) {
			var made [8]string
			processes := make([]process, len(made))
			for i := range processes {
				processes[i] = start(t, s, token.Options{})
			}
			together(len(made), func(i int) {
				var err error
				if made[i], err = processes[i].MakeAdmin(t.Context()); err != nil {
					t.Error(err)
				}
			})
			text := strings.Join(made[:], "")
			if len(text) != 54 { // 256 bits in base64
				t.Fatalf("they made %q", made)
			}
			processes[3].wantIdentity(text, token.Identity{Admin: true}, nil)
			if records, indexes := documents(t, s); len(records) != 1 || len(indexes) != 1 {
				t.Errorf("%d records and %d indexes are stored, want one of each", len(records), len(indexes))
			}
		})
	}
}

// TestFixedAdmin: the token of the options is valid in that process without the
// store, and MakeAdmin makes no other.
func TestFixedAdmin(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p, q := start(t, s, token.Options{Admin: admin}), start(t, s, token.Options{})
		p.wantIdentity(admin, token.Identity{Admin: true}, nil)
		q.wantIdentity(admin, token.Identity{}, token.ErrInvalid)
		if text, err := p.MakeAdmin(t.Context()); text != "" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		next, err := p.ResetAdmin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.wantIdentity(next, token.Identity{Admin: true}, nil)
		q.wantIdentity(next, token.Identity{Admin: true}, nil)
		p.wantIdentity(admin, token.Identity{Admin: true}, nil)
	})
}

// TestResetAdmin: all processes refuse the old admin token; its key tokens stay valid, and
// the new admin token gets new ones.
func TestResetAdmin(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p, q := start(t, s, token.Options{}), start(t, s, token.Options{})
		old, err := p.MakeAdmin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		k := p.key(old, "orders")
		q.wantIdentity(old, token.Identity{Admin: true}, nil)
		next, err := p.ResetAdmin(t.Context())
		if err != nil || next == old {
			t.Fatal(next, err)
		}
		for _, process := range []process{p, q} {
			process.wantIdentity(old, token.Identity{}, token.ErrInvalid)
			process.wantIdentity(next, token.Identity{Admin: true}, nil)
			process.wantIdentity(k.Text, token.Identity{Key: "orders"}, nil)
		}
		if of := q.key(next, "orders"); of.Text == k.Text {
			t.Error("two admin tokens get the same key token")
		}
	})
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]token.Options{
		"publish":                      {Admin: "admin_change_me_in_production"},
		"publish one":                  {Admin: "dev_admin_token_12345"},
		"has 15 bytes; allowed are 16": {Admin: "0123456789abcde"},
		"has 513 bytes":                {Admin: strings.Repeat("0123456789abcdef", 33)[:513]},
		"has 1 different characters":   {Admin: strings.Repeat("a", 64)},
		"has 7 different characters":   {Admin: "abcdefgabcdefgabcdefg"},
		"not printable":                {Admin: "0123456789abcdef\n0123456789"},
		"printable ASCII":              {Admin: "0123456789abcdefé"},
		"with a space":                 {Admin: "0123456789abcdef "},
		"begins with Bearer":           {Admin: "bearer 0123456789abcdef"},
		"TokenExpiry":                  {Expiry: time.Second - 1},
		"TokenLookups":                 {Lookups: -1},
	} {
		_, err := token.New(nil, nil, o)
		if want = strings.TrimSuffix(want, " one"); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "with ")) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		} else if o.Admin != "" && strings.Contains(err.Error(), o.Admin) {
			t.Errorf("the error has the token: %v", err)
		}
	}
	for _, o := range []token.Options{{}, {Admin: admin, Expiry: time.Second, Lookups: 1}, {Admin: "an admin token of words", Expiry: -1}} {
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
	}
}
