// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// TestNothingStoredIsAToken: no document has a key token or an admin token, in any common encoding,
// and no text of a document is a valid token.
func TestNothingStoredIsAToken(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, s, token.Options{})
		made, err := p.MakeAdmin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		secrets := []string{made, admin, p.key(made, "orders").Text, p.key(admin, "orders").Text, p.key(admin, token.GlobalKey).Text}
		records, indexes := documents(t, s)
		if len(records) != 3 || len(indexes) != 4 {
			t.Fatalf("%d records, %d indexes", len(records), len(indexes))
		}
		for _, d := range append(records, indexes...) {
			everything := fmt.Appendf(nil, "%s %s %s", d.Key, d.Type, d.Value)
			for _, secret := range secrets {
				for _, form := range []string{secret, secret[:20], hex.EncodeToString([]byte(secret[:20]))} {
					if bytes.Contains(everything, []byte(form)) {
						t.Errorf("%s has %q", everything, form)
					}
				}
			}
			for _, text := range bytes.FieldsFunc(everything, func(c rune) bool { return bytes.ContainsRune([]byte(` "{}[]:,#`), c) }) {
				p.wantIdentity(string(text), token.Identity{}, token.ErrInvalid)
			}
		}
	})
}

// TestConcurrentKeys: 16 goroutines of 4 processes that ask for the token of a key get the
// same one, which is stored once.
func TestConcurrentKeys(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		var processes [4]process
		for i := range processes {
			processes[i] = start(t, s, token.Options{})
		}
		var got [16]token.Token
		together(len(got), func(i int) { got[i] = processes[i%4].key(admin, "orders") })
		for _, k := range got {
			if k != got[0] {
				t.Errorf("%+v and %+v", k, got[0])
			}
		}
		processes[0].wantIdentity(got[0].Text, token.Identity{Key: "orders"}, nil)
		if records, indexes := documents(t, s); len(records) != 1 || len(indexes) != 1 {
			t.Errorf("%d records and %d indexes are stored, want one of each", len(records), len(indexes))
		}
	})
}

// TestConcurrentResets: 16 goroutines ask for tokens, reset and revoke them, with two admin
// tokens. No change is lost: at the end exactly the tokens in the store are valid, at most
// one for each admin token.
func TestConcurrentResets(t *testing.T) {
	for range 5 {
		bubble(t, func(t *testing.T, s store.Store) {
			processes := [2]process{start(t, s, token.Options{}), start(t, s, token.Options{})}
			var mu sync.Mutex
			given := map[string]bool{}
			together(16, func(i int) {
				p, who := processes[i%2], []string{admin, other}[i/2%2]
				for range 3 {
					var k token.Token
					var err error
					switch i / 4 {
					case 0:
						k, err = p.Reset(t.Context(), who, "orders")
					case 1:
						err = p.Revoke(t.Context(), "orders")
					default:
						k, err = p.Key(t.Context(), who, "orders")
					}
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					given[k.Text] = true
					mu.Unlock()
				}
			})
			last := map[string]bool{processes[0].key(admin, "orders").Text: true, processes[1].key(other, "orders").Text: true}
			delete(given, "")
			for text := range given {
				want := token.ErrInvalid
				if last[text] {
					want = nil
				}
				for _, p := range processes {
					p.wantIdentity(text, token.Identity{Key: "orders"}, want)
				}
			}
			if n := storedTokens(t, s, "orders"); n != 2 {
				t.Errorf("%d tokens are stored, want 2", n)
			}
		})
	}
}

func storedTokens(t *testing.T, s store.Store, key string) int {
	t.Helper()
	d, err := s.Get(t.Context(), store.Tokens, key)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Tokens []any }
	if err := json.Unmarshal(d.Value, &r); err != nil {
		t.Fatal(err)
	}
	return len(r.Tokens)
}

// TestFaults: calls of the store fail, before or after they took effect. A token that was
// returned without an error is valid, one that was reset without an error is not. If a process
// stops after any call, repeating the operation repairs what it left.
func TestFaults(t *testing.T) {
	random := seed.Rand(t)
	bubble(t, func(t *testing.T, s store.Store) {
		faults := true
		f := storetest.Faulty(s, func(c storetest.Call) storetest.Fault {
			if c.Method == "Revision" || !faults {
				return storetest.Fault{}
			}
			return storetest.Fault{Fail: random.IntN(6) == 0, Lose: random.IntN(4) == 0}
		})
		p, q := start(t, f, token.Options{}), start(t, s, token.Options{})
		var valid token.Token
		counts := map[string]int{}
		for range 200 {
			var k token.Token
			var err error
			reset := random.IntN(3) == 0
			if reset {
				k, err = p.Reset(t.Context(), admin, "orders")
			} else {
				k, err = p.Key(t.Context(), admin, "orders")
			}
			counts[fmt.Sprint(reset, err == nil)]++
			if err != nil {
				if !errors.Is(err, storetest.ErrFault) {
					t.Fatal(err)
				}
				valid = token.Token{} // a reset may have been made
				continue
			}
			q.wantIdentity(k.Text, token.Identity{Key: "orders"}, nil)
			switch {
			case reset && valid.Text != "":
				q.wantIdentity(valid.Text, token.Identity{}, token.ErrInvalid)
			case valid.Text != "" && valid != k:
				t.Error("a token that is valid was replaced")
			}
			valid = k
		}
		if len(counts) != 4 {
			t.Errorf("%v: not all cases were met", counts)
		}
		faults = false
		q.wantIdentity(p.reset(admin, "orders").Text, token.Identity{Key: "orders"}, nil)
	})
}

// TestLostAcknowledgement: if a token was stored, but the store's answer was lost, the token is
// returned; otherwise the operator of a new installation would have no admin token.
func TestLostAcknowledgement(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		f := storetest.Faulty(s, func(c storetest.Call) storetest.Fault {
			return storetest.Fault{Lose: c.Method == "Put" && c.Name[0] != '#'}
		})
		p := start(t, f, token.Options{})
		made, err := p.MakeAdmin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.wantIdentity(made, token.Identity{Admin: true}, nil)
		next, err := p.ResetAdmin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.wantIdentity(made, token.Identity{}, token.ErrInvalid)
		p.wantIdentity(next, token.Identity{Admin: true}, nil)
		p.wantIdentity(p.key(next, "orders").Text, token.Identity{Key: "orders"}, nil)
	})
}

// TestUnannounced: if the announcement of a reset fails, it returns an error and the token; workers
// accept the old token for a minute at most, or until the reset is repeated.
func TestUnannounced(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		f := storetest.Faulty(s, func(c storetest.Call) storetest.Fault { return storetest.Fault{Fail: c.Method == "Advance"} })
		p, q := start(t, f, token.Options{}), start(t, s, token.Options{})
		old := p.key(admin, "orders")
		q.wantIdentity(old.Text, token.Identity{Key: "orders"}, nil)
		next, err := p.Reset(t.Context(), admin, "orders")
		if !errors.Is(err, storetest.ErrFault) || next.Text == "" {
			t.Fatal(next, err)
		}
		q.wantIdentity(old.Text, token.Identity{Key: "orders"}, nil)
		q.wantIdentity(next.Text, token.Identity{Key: "orders"}, nil)
		time.Sleep(time.Minute)
		q.wantIdentity(old.Text, token.Identity{}, token.ErrInvalid)
	})
}

// TestStoreDown: while the store is down, the token of the options is valid; for others
// Check returns the store's error once the revision is no longer valid.
func TestStoreDown(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		var down atomic.Bool
		p := start(t, storetest.Faulty(s, func(storetest.Call) storetest.Fault { return storetest.Fault{Fail: down.Load()} }), token.Options{Admin: admin})
		k := p.key(admin, "orders")
		p.wantIdentity(k.Text, token.Identity{Key: "orders"}, nil)
		down.Store(true)
		p.wantIdentity("unknown", token.Identity{}, storetest.ErrFault)
		p.wantIdentity(k.Text, token.Identity{Key: "orders"}, nil)
		time.Sleep(2 * time.Second)
		p.wantIdentity(k.Text, token.Identity{}, storetest.ErrFault)
		p.wantIdentity(admin, token.Identity{Admin: true}, nil)
		if _, err := p.Key(t.Context(), admin, "orders"); !errors.Is(err, storetest.ErrFault) {
			t.Error(err)
		}
	})
}

// TestCheckLast: while the store is down, CheckLast accepts tokens that the process knows, but
// neither others nor those that it knew before the last change, nor one after its expiry; Check
// accepts none.
func TestCheckLast(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		var down atomic.Bool
		o := token.Options{Expiry: 4 * time.Minute}
		p := start(t, storetest.Faulty(s, func(storetest.Call) storetest.Fault { return storetest.Fault{Fail: down.Load()} }), o)
		q := start(t, s, o)
		early, known, unknown := p.key(admin, "early"), p.key(admin, "known"), p.key(admin, "unknown")
		p.wantIdentity(early.Text, token.Identity{Key: "early"}, nil)
		q.reset(admin, "another")
		p.wantIdentity(known.Text, token.Identity{Key: "known"}, nil)
		time.Sleep(2 * time.Minute)
		down.Store(true)
		last := func(want error, tokens ...token.Token) {
			t.Helper()
			for _, k := range tokens {
				id, outage, err := p.CheckLast(t.Context(), k.Text)
				if !errors.Is(err, want) || err == nil && (id.Key != k.Key || !outage) {
					t.Errorf("%s: %+v, %v, %v; want %v", k.Key, id, outage, err, want)
				}
			}
		}
		last(nil, known) // the revision is valid, but the token has to be read again
		last(storetest.ErrFault, early, unknown)
		time.Sleep(10 * time.Second)
		last(nil, known)
		last(storetest.ErrFault, early, unknown)
		p.wantIdentity(known.Text, token.Identity{}, storetest.ErrFault)
		q.reset(admin, "known")
		last(nil, known) // it cannot know
		time.Sleep(2 * time.Minute)
		last(token.ErrExpired, known)
		down.Store(false)
		time.Sleep(time.Second)
		last(token.ErrInvalid, known)
	})
}

// TestFlood: the rate of lookups of guessed tokens is bounded, and they lock out no token that the
// service made: neither one that the process has seen, even if a new revision makes it look
// again, nor the first use of one, even in a process that made none. A token that was reset does not
// use up lookups either.
func TestFlood(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		o := token.Options{Lookups: 50}
		maker, p := start(t, s, o), start(t, s, o)
		known, old := maker.key(admin, "orders"), maker.key(admin, "old")
		maker.reset(admin, "old")
		p.wantIdentity(known.Text, token.Identity{Key: "orders"}, nil)
		guesses := 0
		guess := func(n int) (looked int) {
			for range n {
				guesses++
				_, err := p.Check(t.Context(), fmt.Sprintf("%064d", guesses)) // as long as a key token
				if errors.Is(err, token.ErrInvalid) {
					looked++
				} else if !errors.Is(err, token.ErrBusy) {
					t.Fatal(err)
				}
			}
			return looked
		}
		if looked := guess(2600); looked != 50 {
			t.Errorf("%d guesses were looked up, want 50", looked)
		}
		for range 200 {
			p.wantIdentity(old.Text, token.Identity{}, token.ErrInvalid)
		}
		for i := range 30 {
			key := fmt.Sprint("key", i)
			p.wantIdentity(maker.key(admin, key).Text, token.Identity{Key: key}, nil)
		}
		if _, err := s.Advance(t.Context()); err != nil {
			t.Fatal(err)
		}
		current, err := p.watch.Current(t.Context())
		for err == nil && current < 2 { // the guesses go on
			guess(100)
			time.Sleep(10 * time.Millisecond)
			current, err = p.watch.Current(t.Context())
		}
		if guess(100) == 100 {
			t.Error("guesses are not bounded: nothing was tested")
		}
		p.wantIdentity(known.Text, token.Identity{Key: "orders"}, nil)
	})
}

// TestUnmarkedTokens: tokens of a program before tokens had marks stay valid, are given again, and are
// replaced by a reset.
func TestUnmarkedTokens(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		const text = "WUIhZEh2XcwEDQfI2Mgw45X2cheOSKCLOYesEX_9gh3Jqzop_NMIcLj8tJj4ro3G" // made with the nonce below
		p := start(t, s, token.Options{})
		h := sha256.Sum256([]byte(text))
		nonce := base64.StdEncoding.EncodeToString(make([]byte, 32))
		put(t, s, "orders", fmt.Sprintf(`{"tokens": [{"hash": %q, "nonce": %q, "created_at": "2026-01-01T00:00:00Z"}]}`, base64.StdEncoding.EncodeToString(h[:]), nonce))
		put(t, s, "#"+hex.EncodeToString(h[:]), `{"key": "orders"}`)
		p.wantIdentity(text, token.Identity{Key: "orders"}, nil)
		if k := p.key(admin, "orders"); k.Text != text {
			t.Errorf("the token is %q, want the one that is stored", k.Text)
		}
		next := p.reset(admin, "orders")
		p.wantIdentity(text, token.Identity{}, token.ErrInvalid)
		p.wantIdentity(next.Text, token.Identity{Key: "orders"}, nil)
		if k := p.key(admin, "orders"); k.Text != next.Text || len(k.Text) != 64 {
			t.Errorf("after the reset the token is %q, and then %q", next.Text, k.Text)
		}
	})
}

// TestCorruptDocuments: for a document that this package did not write, the error names
// the document, and no token.
func TestCorruptDocuments(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, s, token.Options{})
		k := p.key(admin, "orders")
		records, indexes := documents(t, s)
		for _, c := range []struct {
			d      store.Document
			values []string
		}{
			{records[0], []string{`{"tokens": 1}`, `{"tokens": [{"hash": "AAAA"}]}`}},
			{indexes[0], []string{`{}`, `{"key": 7}`}},
		} {
			for _, value := range c.values {
				put(t, s, c.d.Key, value)
				q := start(t, s, token.Options{})
				var corrupt *store.CorruptError
				if _, err := q.Check(t.Context(), k.Text); !errors.As(err, &corrupt) {
					t.Errorf("%s: %v", value, err)
				}
			}
			put(t, s, c.d.Key, string(c.d.Value))
		}
		start(t, s, token.Options{}).wantIdentity(k.Text, token.Identity{Key: "orders"}, nil)
	})
}

func put(t *testing.T, s store.Store, key, value string) {
	t.Helper()
	d, err := s.Get(t.Context(), store.Tokens, key)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		_, err = s.Put(t.Context(), store.Tokens, store.Document{Key: key, Value: []byte(value), Version: d.Version})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestConflictsEnd: if each write is a conflict, a call ends with its context.
func TestConflictsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, storetest.Faulty(s, func(c storetest.Call) storetest.Fault {
			if c.Method == "Get" {
				return storetest.Fault{Before: func(ctx context.Context) { time.Sleep(time.Millisecond) }, Fail: true, Err: store.ErrNotFound}
			}
			return storetest.Fault{Fail: c.Method == "Put", Err: store.ErrConflict}
		}), token.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Key(ctx, admin, "orders"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s := storetest.Memory(b)
	w, err := revision.New(s, revision.Options{Validity: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	a, err := token.New(s, w, token.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	k, err := a.Key(ctx, admin, "orders")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Check(ctx, k.Text); err != nil {
			b.Fatal(err)
		}
	}
}
