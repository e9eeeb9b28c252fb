// SPDX-License-Identifier: Apache-2.0

package token

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// GlobalKey is the key of the deployed worker's token for all keys that do not require a
// token of their own.
const GlobalKey = globalKey

// Key returns the key token of an admin token: the same one as long as it is valid, then a
// new one. The latest 7 key tokens of other admin tokens stay valid. The caller has checked
// the admin token.
func (a *Authority) Key(ctx context.Context, admin, key string) (Token, error) {
	if err := checkRequest(admin, key); err != nil {
		return Token{}, err
	}
	var oldest []entry
	t, err := a.updateRecord(ctx, key, func(r record) (Token, error) {
		oldest = nil // of an attempt that others have overtaken
		now := a.options.Now()
		for i := range r.Tokens {
			e := &r.Tokens[i]
			text, err := a.textOf(ctx, admin, e, key)
			if err != nil {
				return Token{}, err
			}
			if e.isValid(now) && r.findEntry(hashOf(text)) == e {
				return Token{key, text, e.Expires}, nil
			}
		}
		oldest = r.dropOld(now)
		return a.addDerived(ctx, r, admin, key)
	})
	if err == nil {
		a.removeIndexes(ctx, oldest)
	}
	return t, err
}

// Reset makes a new key token, and makes all others of the key invalid. When it returns
// nil, no worker accepts them, but those that cannot ask the store (see [Authority.CheckLast]).
// After an error that wraps [revision.ErrUnconfirmed] the new token is valid, and [Authority.Key]
// returns it, too; workers may still accept the others: repeat the call. After any other error
// the new token may be valid. The caller has checked the admin token.
func (a *Authority) Reset(ctx context.Context, admin, key string) (Token, error) {
	if err := checkRequest(admin, key); err != nil {
		return Token{}, err
	}
	return a.resetRecord(ctx, key, func(r record) (Token, error) { return a.addDerived(ctx, r, admin, key) })
}

// Revoke makes all tokens of a key invalid. When it returns nil, no worker accepts them.
func (a *Authority) Revoke(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	_, err := a.resetRecord(ctx, key, func(r record) (Token, error) {
		if r.version == 0 {
			return Token{}, nil
		}
		return Token{}, a.putRecord(ctx, key, r)
	})
	return err
}

// MakeAdmin makes an admin token if there is none in the store, and none in the options; ""
// otherwise. Of several processes that start at once, one makes it.
func (a *Authority) MakeAdmin(ctx context.Context) (string, error) { return a.KeepAdmin(ctx, nil) }

// KeepAdmin is MakeAdmin for a text that must not be lost: keep, if it is not nil, stores the text
// before the token is valid. If keep fails no token is made. If KeepAdmin returns "", the text
// that keep may have stored is of no token: others were faster, or the store failed. After an error with a
// text the token may be valid.
func (a *Authority) KeepAdmin(ctx context.Context, keep func(text string) error) (string, error) {
	if a.fixed != nil {
		return "", nil
	}
	return a.makeFirst(ctx, adminKey, keep)
}

// ResetAdmin makes a new admin token, and makes all other stored ones invalid. When it
// returns nil, no worker accepts them, as with [Authority.Reset]. The token of the options stays
// valid, and so do key tokens: see the package's documentation. After an error the new token may
// be valid already, and is returned if it was stored; workers may still accept the others: repeat
// the call.
func (a *Authority) ResetAdmin(ctx context.Context) (string, error) {
	return a.resetRandom(ctx, adminKey)
}

// MakeWorker makes a token with which workers register with controllers, and which permits nothing
// else, if there is none in the store; "" otherwise.
func (a *Authority) MakeWorker(ctx context.Context) (string, error) {
	return a.makeFirst(ctx, workerKey, nil)
}

// ResetWorker makes a new token for workers, and makes the others invalid, like
// [Authority.ResetAdmin].
func (a *Authority) ResetWorker(ctx context.Context) (string, error) {
	return a.resetRandom(ctx, workerKey)
}

// makeFirst makes a random token of a role if there is none, and keeps its text before.
func (a *Authority) makeFirst(ctx context.Context, role string, keep func(text string) error) (string, error) {
	t, err := a.updateRecord(ctx, role, func(r record) (Token, error) {
		if len(r.Tokens) > 0 {
			return Token{}, nil
		}
		return a.addRandom(ctx, r, role, keep)
	})
	return t.Text, err
}

// resetRandom makes a random token of a role, and makes the others invalid.
func (a *Authority) resetRandom(ctx context.Context, role string) (string, error) {
	t, err := a.resetRecord(ctx, role, func(r record) (Token, error) { return a.addRandom(ctx, r, role, nil) })
	return t.Text, err
}

// addRandom adds a random token of a role. It keeps the text before.
func (a *Authority) addRandom(ctx context.Context, r record, role string, keep func(text string) error) (Token, error) {
	text, err := a.randomText(ctx)
	if err == nil && keep != nil {
		err = keep(text)
	}
	if err != nil {
		return Token{}, err
	}
	return a.addToken(ctx, r, role, text, entry{})
}

// resetRecord removes all tokens from the record of a key, runs fn on it, and announces it.
func (a *Authority) resetRecord(ctx context.Context, key string, fn func(record) (Token, error)) (Token, error) {
	var old []entry
	t, err := a.updateRecord(ctx, key, func(r record) (Token, error) {
		old, r.Tokens = r.Tokens, []entry{}
		return fn(r)
	})
	if err == nil {
		err = a.watch.Announce(ctx)
	}
	if err == nil {
		a.removeIndexes(ctx, old)
	}
	return t, err
}

// updateRecord runs fn on the record of a key, and again if others have changed the record.
func (a *Authority) updateRecord(ctx context.Context, key string, fn func(record) (Token, error)) (Token, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Token{}, fmt.Errorf("token: %w", err)
		}
		r, err := a.readRecord(ctx, key)
		if err != nil {
			return Token{}, err
		}
		t, err := fn(r)
		if !errors.Is(err, store.ErrConflict) {
			return t, err
		}
	}
}

// checkRequest refuses keys and admin tokens for which there is no key token. From a short
// admin token, a reader of the store could derive the key tokens.
func checkRequest(admin, key string) error {
	if len(admin) < minAdmin || len(admin) > maxText {
		return fmt.Errorf("%w: an admin token has %d to %d bytes", ErrInvalid, minAdmin, maxText)
	}
	return checkKey(key)
}

// checkKey refuses keys that are reserved for other documents.
func checkKey(key string) error {
	if key == globalKey {
		return nil
	}
	if err := store.CheckName(key); err != nil {
		return fmt.Errorf("%w: %w", ErrKey, err)
	}
	if strings.HasPrefix(key, "#") || strings.HasPrefix(key, "__") {
		return fmt.Errorf("%w: %q begins with # or __; such keys are reserved", ErrKey, key)
	}
	return nil
}

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
