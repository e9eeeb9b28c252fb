// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// TestKey: an admin token gets the same key token from any process; other admin tokens and other
// keys have other key tokens. Each is valid for its key.
func TestKey(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p, q := start(t, s, token.Options{}), start(t, s, token.Options{})
		orders := p.key(admin, "orders")
		if again := q.key(admin, "orders"); again != orders {
			t.Errorf("the token is %+v, and then %+v", orders, again)
		}
		tokens := map[string]string{
			orders.Text: "orders", p.key(other, "orders").Text: "orders", p.key(admin, "Orders").Text: "Orders", p.key(admin, "two words").Text: "two words",
		}
		if len(tokens) != 4 {
			t.Errorf("%d different tokens, want 4", len(tokens))
		}
		for text, key := range tokens {
			if !regexp.MustCompile(`^[A-Za-z0-9_-]{64}$`).MatchString(text) {
				t.Errorf("%q is not 64 characters of base64", text)
			}
			for range 2 { // the second time from memory
				p.wantIdentity(text, token.Identity{Key: key}, nil)
				q.wantIdentity(text, token.Identity{Key: key}, nil)
			}
		}
		global := p.key(admin, token.GlobalKey)
		p.wantIdentity(global.Text, token.Identity{Global: true}, nil)
		if got, err := p.Check(t.Context(), orders.Text); err != nil || got.Hash != sha256.Sum256([]byte(orders.Text)) {
			t.Errorf("the hash is %x, %v", got.Hash, err)
		}
	})
}

// TestUnknownTokens: texts that are no token, of any length, are refused.
func TestUnknownTokens(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		var gets atomic.Int64
		p := start(t, storetest.Faulty(s, func(c storetest.Call) storetest.Fault {
			if c.Method == "Get" {
				gets.Add(1)
			}
			return storetest.Fault{}
		}), token.Options{Admin: admin})
		text := p.key(admin, "orders").Text
		for _, text := range []string{"x", text[:63], text + "x", strings.ToLower(text), admin[1:], "orders", "__admin__", "\x00", "\xff"} {
			p.wantIdentity(text, token.Identity{}, token.ErrInvalid)
		}
		before := gets.Load()
		for _, text := range []string{"", strings.Repeat("x", 513), strings.Repeat("x", 10<<20)} {
			p.wantIdentity(text, token.Identity{}, token.ErrInvalid)
		}
		if gets.Load() != before {
			t.Error("a text that cannot be a token was looked up")
		}
	})
}

// TestExpiry: a token is valid until the instant of its expiry, not at it; then the same
// admin token gets a new one. A token that the store has removed is unknown.
func TestExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		var c clock
		begun := time.Date(2026, 11, 22, 10, 0, 0, 1, time.UTC)
		c.set(begun)
		p := start(t, s, token.Options{Expiry: time.Hour, Now: c.now})
		old := p.key(admin, "orders")
		if want := begun.Add(time.Hour).Truncate(time.Second).Add(time.Second); !old.Expires.Equal(want) {
			t.Errorf("it expires at %v, want %v", old.Expires, want)
		}
		p.wantIdentity(old.Text, token.Identity{Key: "orders"}, nil)
		c.set(old.Expires.Add(-1))
		p.wantIdentity(old.Text, token.Identity{Key: "orders"}, nil)
		if again := p.key(admin, "orders"); again != old {
			t.Error("a token that is valid is replaced")
		}
		c.set(old.Expires)
		p.wantIdentity(old.Text, token.Identity{}, token.ErrExpired)
		start(t, s, token.Options{Now: c.now}).wantIdentity(old.Text, token.Identity{}, token.ErrExpired)
		next := p.key(admin, "orders")
		if next.Text == old.Text {
			t.Error("a token that has expired is given again")
		}
		p.wantIdentity(next.Text, token.Identity{Key: "orders"}, nil)
		c.set(begun) // the clock is set back: the replaced token stays invalid
		start(t, s, token.Options{Now: c.now}).wantIdentity(old.Text, token.Identity{}, token.ErrInvalid)
	})
}

// TestNeverExpires: with a negative Expiry, a token does not expire.
func TestNeverExpires(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		var c clock
		p := start(t, s, token.Options{Expiry: -1, Now: c.now})
		k := p.key(admin, "orders")
		c.set(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
		p.wantIdentity(k.Text, token.Identity{Key: "orders"}, nil)
		if again := p.key(admin, "orders"); !k.Expires.IsZero() || again != k {
			t.Errorf("%+v, then %+v", k, again)
		}
	})
}

// TestReset: when Reset returns, all processes refuse the old token, even one that has accepted it
// a moment ago. Tokens of other keys stay valid.
func TestReset(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p, q := start(t, s, token.Options{}), start(t, s, token.Options{})
		old, others, kept := p.key(admin, "orders"), p.key(other, "orders"), p.key(admin, "bills")
		stop := make(chan struct{})
		go func() { // q has the tokens in memory, and asks for them all the time
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
					_, _ = q.Check(t.Context(), old.Text)
					_, _ = q.Check(t.Context(), others.Text)
				}
			}
		}()
		time.Sleep(50 * time.Millisecond)
		next := p.reset(admin, "orders")
		for _, process := range []process{p, q} {
			process.wantIdentity(old.Text, token.Identity{}, token.ErrInvalid)
			process.wantIdentity(others.Text, token.Identity{}, token.ErrInvalid)
			process.wantIdentity(next.Text, token.Identity{Key: "orders"}, nil)
			process.wantIdentity(kept.Text, token.Identity{Key: "bills"}, nil)
		}
		close(stop)
		if again := q.key(admin, "orders"); again != next {
			t.Error("the token after a reset is not the one that the reset gave")
		}
		if _, indexes := documents(t, s); len(indexes) != 2 {
			t.Errorf("%d indexes are stored, want those of the 2 tokens that are valid", len(indexes))
		}
	})
}

// TestRevoke: no token of the key is left, in any process; the next is a new one.
func TestRevoke(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p, q := start(t, s, token.Options{}), start(t, s, token.Options{})
		old := p.key(admin, "orders")
		q.wantIdentity(old.Text, token.Identity{Key: "orders"}, nil)
		for range 2 { // it can be repeated
			if err := p.Revoke(t.Context(), "orders"); err != nil {
				t.Fatal(err)
			}
			q.wantIdentity(old.Text, token.Identity{}, token.ErrInvalid)
		}
		if err := p.Revoke(t.Context(), "a key without tokens"); err != nil {
			t.Error(err)
		}
		if next := q.key(admin, "orders"); next.Text == old.Text {
			t.Error("the token that was revoked is given again")
		}
	})
}

// TestManyAdmins: a key has at most 8 tokens; the oldest is removed for a new one, and so is its
// index, which would never expire.
func TestManyAdmins(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, s, token.Options{Expiry: -1})
		var tokens []token.Token
		for i := range 9 {
			tokens = append(tokens, p.key(admin+string(rune('a'+i)), "orders"))
		}
		q := start(t, s, token.Options{})
		q.wantIdentity(tokens[0].Text, token.Identity{}, token.ErrInvalid)
		for _, k := range tokens[1:] {
			q.wantIdentity(k.Text, token.Identity{Key: "orders"}, nil)
		}
		// A process that has the token in memory accepts it for a minute at most.
		p.wantIdentity(tokens[1].Text, token.Identity{Key: "orders"}, nil)
		p.key(other, "orders")
		time.Sleep(time.Minute)
		p.wantIdentity(tokens[1].Text, token.Identity{}, token.ErrInvalid)
		if records, indexes := documents(t, s); len(records) != 1 || len(indexes) != 8 {
			t.Errorf("%d records and %d indexes are stored, want 1 and 8", len(records), len(indexes))
		}
	})
}

// TestReservedKeys: reserved keys have no tokens. Otherwise an index or the admin tokens
// would be overwritten.
func TestReservedKeys(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, s, token.Options{})
		for _, key := range []string{"", "__admin__", "__x", "#" + strings.Repeat("0", 64), "#", "a\nb", strings.Repeat("k", 256)} {
			_, keyErr := p.Key(t.Context(), admin, key)
			_, resetErr := p.Reset(t.Context(), admin, key)
			if revokeErr := p.Revoke(t.Context(), key); !errors.Is(keyErr, token.ErrKey) || !errors.Is(resetErr, token.ErrKey) || !errors.Is(revokeErr, token.ErrKey) {
				t.Errorf("%q: %v, %v, %v", key, keyErr, resetErr, revokeErr)
			}
		}
		for _, text := range []string{"", "short", strings.Repeat("x", 513)} { // a reader of the store could derive tokens from it
			_, keyErr := p.Key(t.Context(), text, "orders")
			if _, resetErr := p.Reset(t.Context(), text, "orders"); !errors.Is(keyErr, token.ErrInvalid) || !errors.Is(resetErr, token.ErrInvalid) {
				t.Errorf("%.20q: %v, %v", text, keyErr, resetErr)
			}
		}
		if records, indexes := documents(t, s); len(records)+len(indexes) > 0 {
			t.Errorf("%v and %v are stored", records, indexes)
		}
	})
}

// TestWorkerTokens: a token of workers has the rights of no key and no admin. There is one, until it is
// reset.
func TestWorkerTokens(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, s, token.Options{})
		first, err := p.MakeWorker(t.Context())
		if again, err := p.MakeWorker(t.Context()); err != nil || again != "" || first == "" {
			t.Errorf("the first is %q, the second call makes %q, %v", first, again, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.wantIdentity(first, token.Identity{Worker: true}, nil)
		if admin, err := p.MakeAdmin(t.Context()); err != nil || admin == "" {
			t.Errorf("an admin token is made in addition: %q, %v", admin, err)
		}
		second, err := p.ResetWorker(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.wantIdentity(second, token.Identity{Worker: true}, nil)
		p.wantIdentity(first, token.Identity{}, token.ErrInvalid)
		list, err := p.List(t.Context())
		if err != nil || len(list) != 2 || list[0].Worker || !list[1].Worker || list[1].Key != "" {
			t.Errorf("the list is %+v, %v", list, err)
		}
	})
}

// TestStoredTokens: documents as docs/layout.md describes them are read, and the token that was
// made from them is made again: the text was computed by another program.
// TestNewerTokens: a token with a member that this program does not know, which may restrict it, permits
// nothing, and its document is not written.
func TestNewerTokens(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		p := start(t, s, token.Options{})
		k := p.key(admin, "orders")
		d, err := s.Get(t.Context(), store.Tokens, "orders")
		if err != nil {
			t.Fatal(err)
		}
		d.Value = bytes.Replace(d.Value, []byte(`"marked":`), []byte(`"role":"register","marked":`), 1)
		if _, err := s.Put(t.Context(), store.Tokens, d); err != nil {
			t.Fatal(err)
		}
		other := start(t, s, token.Options{})
		if _, err := other.Check(t.Context(), k.Text); !errors.Is(err, store.ErrNewer) || strings.Contains(fmt.Sprint(err), "cannot be read") {
			t.Errorf("checked: %v", err)
		}
		if _, err := other.Key(t.Context(), admin, "orders"); !errors.Is(err, store.ErrNewer) {
			t.Errorf("a further token: %v", err)
		}
		if now, err := s.Get(t.Context(), store.Tokens, "orders"); err != nil || !bytes.Equal(now.Value, d.Value) {
			t.Errorf("the document is %s, %v", now.Value, err)
		}
	})
}

func TestStoredTokens(t *testing.T) {
	bubble(t, func(t *testing.T, s store.Store) {
		const text = "31eyUSWlLnJ9BKys6E_AkAQdCGBnFiIwLq6vcLAaJogSDtjqpZpTojKUmFSeBkAh"
		h := sha256.Sum256([]byte(text))
		put(t, s, "__mark__", `{"mark": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}`)
		put(t, s, "orders", fmt.Sprintf(`{"tokens": [{"hash": %q, "nonce": "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=", "marked": true, "created_at": "2026-01-01T00:00:00Z"}]}`,
			base64.StdEncoding.EncodeToString(h[:])))
		put(t, s, "#"+hex.EncodeToString(h[:]), `{"key": "orders"}`)
		p := start(t, s, token.Options{})
		p.wantIdentity(text, token.Identity{Key: "orders"}, nil)
		if k := p.key(admin, "orders"); k.Text != text {
			t.Errorf("the token is %q, want the one that is stored", k.Text)
		}
		made, err := p.MakeAdmin(t.Context())
		b, decodeErr := base64.RawURLEncoding.DecodeString(made)
		if err := errors.Join(err, decodeErr); err != nil || len(b) != 40 {
			t.Fatalf("the admin token %q has %d bytes, want 40: %v", made, len(b), err)
		}
		secret := make([]byte, 32)
		for i := range secret {
			secret[i] = byte(i)
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(b[:32])
		if want := mac.Sum(nil)[:8]; !bytes.Equal(b[32:], want) {
			t.Errorf("the mark is %x, want %x", b[32:], want)
		}
	})
}
