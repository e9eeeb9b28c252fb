// SPDX-License-Identifier: Apache-2.0

package token

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Token is a token as its owner gets it.
type Token struct {
	Key     string
	Text    string
	Expires time.Time // zero: it does not expire
}

// GlobalKey is the key of the deployed worker's token for all keys that do not insist on
// a token of their own.
const GlobalKey = globalKey

// Key returns the key token that an admin token gets: the same for as long as it is
// valid, a new one otherwise. Tokens that other admin tokens got stay valid.
func (a *Authority) Key(ctx context.Context, admin, key string) (Token, error) {
	return a.replace(ctx, key, func(r record) (Token, error) {
		now := a.options.Now()
		for i := range r.Tokens {
			e := &r.Tokens[i]
			if text := derive(admin, e.Nonce, key); e.valid(now) && r.find(hashOf(text)) == e {
				return Token{key, text, e.Expires}, nil
			}
		}
		r.drop(now)
		return a.add(ctx, r, admin, key)
	})
}

// Reset makes a new key token, and all others of the key invalid. When it returns
// nil, no worker accepts them.
func (a *Authority) Reset(ctx context.Context, admin, key string) (Token, error) {
	t, err := a.replace(ctx, key, func(r record) (Token, error) {
		r.Tokens = nil
		return a.add(ctx, r, admin, key)
	})
	if err != nil {
		return t, err
	}
	return t, a.watch.Announce(ctx)
}

// Revoke makes all tokens of a key invalid, on all workers, when it returns nil.
func (a *Authority) Revoke(ctx context.Context, key string) error {
	_, err := a.replace(ctx, key, func(r record) (Token, error) {
		if r.version == 0 {
			return Token{}, nil
		}
		return Token{}, a.put(ctx, key, record{Tokens: []entry{}, version: r.version})
	})
	if err != nil {
		return err
	}
	return a.watch.Announce(ctx)
}

// MakeAdmin makes an admin token if there is none in the store, and none in the options; ""
// otherwise.
func (a *Authority) MakeAdmin(ctx context.Context) (string, error) {
	if a.fixed != nil {
		return "", nil
	}
	t, err := a.replace(ctx, adminKey, func(r record) (Token, error) {
		if len(r.Tokens) > 0 {
			return Token{}, nil
		}
		return a.addText(ctx, r, adminKey, random(), entry{})
	})
	return t.Text, err
}

// ResetAdmin makes a new admin token, and all others that are stored invalid. When it
// returns nil, no worker accepts them. The one of the options stays valid.
func (a *Authority) ResetAdmin(ctx context.Context) (string, error) {
	t, err := a.replace(ctx, adminKey, func(r record) (Token, error) {
		r.Tokens = nil
		return a.addText(ctx, r, adminKey, random(), entry{})
	})
	if err != nil {
		return "", err
	}
	return t.Text, a.watch.Announce(ctx)
}

// replace runs fn on the record of a key, again while others change it.
func (a *Authority) replace(ctx context.Context, key string, fn func(record) (Token, error)) (Token, error) {
	for {
		r, err := a.record(ctx, key)
		if err != nil {
			return Token{}, err
		}
		t, err := fn(r)
		if !errors.Is(err, store.ErrConflict) {
			return t, err
		}
	}
}

// record reads the record of a key; one without tokens if there is none.
func (a *Authority) record(ctx context.Context, key string) (record, error) {
	d, err := a.store.Get(ctx, store.Tokens, key)
	if errors.Is(err, store.ErrNotFound) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("token: %w", err)
	}
	return decodeRecord(d)
}

// add adds a key token.
func (a *Authority) add(ctx context.Context, r record, admin, key string) (Token, error) {
	e := entry{Nonce: make([]byte, 32)}
	rand.Read(e.Nonce) // does not fail
	if a.options.Expiry > 0 {
		e.Expires = a.options.Now().Add(a.options.Expiry).UTC().Truncate(time.Second)
	}
	return a.addText(ctx, r, key, derive(admin, e.Nonce, key), e)
}

// addText adds a token: first where it is found by its hash, which is of no effect alone,
// then to the record of the key.
func (a *Authority) addText(ctx context.Context, r record, key, text string, e entry) (Token, error) {
	h := hashOf(text)
	e.Hash, e.Created = h[:], a.options.Now().UTC()
	value, err := json.Marshal(pointer{key})
	if err != nil {
		return Token{}, err
	}
	index := store.Document{Key: h.index(), Value: value}
	if !e.Expires.IsZero() {
		index.Expires = e.Expires.Add(24 * time.Hour)
	}
	if _, err := a.store.Put(ctx, store.Tokens, index); err != nil {
		return Token{}, fmt.Errorf("token: %w", err)
	}
	r.Tokens = append(r.Tokens, e)
	return Token{key, text, e.Expires}, a.put(ctx, key, r)
}

func (a *Authority) put(ctx context.Context, key string, r record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := a.store.Put(ctx, store.Tokens, store.Document{Key: key, Value: value, Version: r.version}); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	return nil
}
