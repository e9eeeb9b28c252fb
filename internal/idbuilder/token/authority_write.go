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

// addDerived adds a key token.
func (a *Authority) addDerived(ctx context.Context, r record, admin, key string) (Token, error) {
	e := entry{Nonce: make([]byte, 32), Expires: a.options.expiry(), Marked: true}
	rand.Read(e.Nonce) // does not fail
	text, err := a.textOf(ctx, admin, &e, key)
	if err != nil {
		return Token{}, err
	}
	return a.addToken(ctx, r, key, text, e)
}

// addToken adds a token: first its index, which has no effect alone, then to the record of
// the key. If the outcome of that is unknown, it reads the record.
func (a *Authority) addToken(ctx context.Context, r record, key, text string, e entry) (Token, error) {
	h := hashOf(text)
	e.Hash, e.Created = h[:], a.options.Now().UTC()
	t := Token{key, text, e.Expires}
	version, err := a.putIndex(ctx, h, key, e.Expires)
	if err != nil {
		return Token{}, err
	}
	r.Tokens = append(r.Tokens, e)
	if err = a.putRecord(ctx, key, r); err == nil {
		return t, nil
	}
	if errors.Is(err, store.ErrConflict) {
		_ = a.store.Delete(ctx, store.Tokens, h.indexKey(), version) // it has no effect, and only takes up room
		return Token{}, err
	}
	if now, readErr := a.readRecord(ctx, key); readErr == nil && now.findEntry(h) != nil {
		return t, nil
	}
	return t, err
}

// putIndex stores to which key a token belongs.
func (a *Authority) putIndex(ctx context.Context, h hash, key string, expires time.Time) (version int64, err error) {
	d := store.Document{Key: h.indexKey()}
	if d.Value, err = json.Marshal(pointer{key}); err != nil {
		return 0, err
	}
	if !expires.IsZero() {
		d.Expires = expires.Add(24 * time.Hour) // until then Check returns ErrExpired for the token, not ErrInvalid
	}
	if version, err = a.store.Put(ctx, store.Tokens, d); err != nil {
		return 0, fmt.Errorf("token: %w", err)
	}
	return version, nil
}

// putRecord stores the record of a key, if it still has the version that was read.
func (a *Authority) putRecord(ctx context.Context, key string, r record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := a.store.Put(ctx, store.Tokens, store.Document{Key: key, Value: value, Version: r.version}); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	return nil
}

// removeIndexes removes the indexes of tokens that are no longer valid. It ignores errors:
// the indexes have no effect, and most expire with the token.
func (a *Authority) removeIndexes(ctx context.Context, old []entry) {
	for _, e := range old {
		h := hash(e.Hash)
		if d, err := a.store.Get(ctx, store.Tokens, h.indexKey()); err == nil {
			_ = a.store.Delete(ctx, store.Tokens, d.Key, d.Version)
		}
	}
}
