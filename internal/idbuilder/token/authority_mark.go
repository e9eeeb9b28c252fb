// SPDX-License-Identifier: Apache-2.0

package token

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
)

// markSize is the length of a mark, in bytes. A guess is right once in 2^64 times.
const markSize = 8

// marker marks the tokens that the service makes. The mark is a MAC of the rest of the token, by
// a secret that all workers read from the store. It proves nothing about the rights of a token:
// it tells tokens that were made from those that were made up, without a lookup. So the lookups
// of guessed tokens can be bounded without a bound on those of made ones.
type marker struct {
	secret atomic.Pointer[[]byte] // nil: it was not read yet
	asked  atomic.Int64           // when the store was asked for it, in Unix nanoseconds
}

// secretDocument is the document with the secret.
type secretDocument struct {
	Secret []byte `json:"mark"`
}

// markedText returns a token of bytes and their mark.
func markedText(secret, b []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(b[:len(b):len(b)], markOf(secret, b)...))
}

func markOf(secret, b []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(b)
	return mac.Sum(nil)[:markSize]
}

// textOf returns the text of the key token of an entry for an admin token: 64 characters.
func (a *Authority) textOf(ctx context.Context, admin string, e *entry, key string) (string, error) {
	b := derive(admin, e.Nonce, key)
	if !e.Marked {
		return base64.RawURLEncoding.EncodeToString(b), nil
	}
	secret, err := a.ensureSecret(ctx)
	if err != nil {
		return "", err
	}
	return markedText(secret, b[:len(b)-markSize]), nil
}

// isMarked reports whether this service made a token. Tokens of programs before it had marks are
// not marked.
func (a *Authority) isMarked(ctx context.Context, text string) bool {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) <= markSize {
		return false
	}
	secret, err := a.loadSecret(ctx)
	if err != nil || secret == nil {
		return false
	}
	rest := len(b) - markSize
	return hmac.Equal(b[rest:], markOf(secret, b[:rest]))
}

// loadSecret returns the secret of the marks, or nil if there is none. It asks the store once a
// second until there is one.
func (a *Authority) loadSecret(ctx context.Context) ([]byte, error) {
	if s := a.marks.secret.Load(); s != nil {
		return *s, nil
	}
	now, asked := time.Now().UnixNano(), a.marks.asked.Load()
	if now-asked < int64(time.Second) && now >= asked || !a.marks.asked.CompareAndSwap(asked, now) {
		return nil, nil
	}
	return a.readSecret(ctx)
}

// readSecret reads the secret; nil if there is none.
func (a *Authority) readSecret(ctx context.Context) ([]byte, error) {
	d, err := a.store.Get(ctx, store.Tokens, markKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	var found secretDocument
	if err := newer.Unmarshal(d.Value, &found); err != nil || len(found.Secret) < 16 {
		return nil, &store.CorruptError{Where: "token secret " + markKey, Reason: "it cannot be read", Err: err}
	}
	a.marks.secret.Store(&found.Secret)
	return found.Secret, nil
}

// ensureSecret returns the secret of the marks, and makes it if there is none. Of several
// processes, one makes it.
func (a *Authority) ensureSecret(ctx context.Context) ([]byte, error) {
	if s := a.marks.secret.Load(); s != nil {
		return *s, nil
	}
	secret, err := a.readSecret(ctx)
	if err != nil || secret != nil {
		return secret, err
	}
	made := secretDocument{make([]byte, 32)}
	rand.Read(made.Secret) // does not fail
	value, err := json.Marshal(made)
	if err != nil {
		return nil, err
	}
	_, err = a.store.Put(ctx, store.Tokens, store.Document{Key: markKey, Value: value})
	secret, readErr := a.readSecret(ctx) // of this or another worker; an error of Put may hide that it was stored
	if secret != nil || readErr != nil {
		return secret, readErr
	}
	return nil, fmt.Errorf("token: the secret of the marks was stored, and is gone: %w", err)
}

// Keys of documents that do not belong to a key of IDs.
const (
	adminKey  = "__admin__"
	workerKey = "__worker__" // tokens with which workers register with controllers
	globalKey = "__global__" // of the deployed worker: a token for all keys that allow it
	markKey   = "__mark__"   // the secret of the marks
)

// maxTokens bounds the valid tokens of one key: one for each admin token that asked. The
// oldest is removed for a new one.
const maxTokens = 8

// hash is the SHA-256 of a token.
type hash [sha256.Size]byte

// hashOf returns the hash of a text of at most maxText bytes, without an allocation.
func hashOf(text string) hash {
	var b [maxText]byte
	return sha256.Sum256(b[:copy(b[:], text)])
}

// indexKey returns the key of the document that names the key of a token.
func (h hash) indexKey() string { return "#" + hex.EncodeToString(h[:]) }

// record is the document of a key: its tokens.
type record struct {
	Tokens  []entry `json:"tokens"`
	version int64
}

// entry is a token, as it is stored.
type entry struct {
	Hash    []byte    `json:"hash"`
	Nonce   []byte    `json:"nonce,omitempty"`  // of a key token
	Marked  bool      `json:"marked,omitempty"` // the text of a key token has a mark
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero"` // zero: never
}

// isValid reports whether the token has not expired.
func (e *entry) isValid(now time.Time) bool { return e.Expires.IsZero() || now.Before(e.Expires) }

// pointer is the document of an index.
type pointer struct {
	Key string `json:"key"`
}

func decodeRecord(d store.Document) (r record, err error) {
	r.version = d.Version
	err = newer.Unmarshal(d.Value, &r) // what a token may do that has more members, a newer version knows
	if err != nil || slices.ContainsFunc(r.Tokens, func(e entry) bool { return len(e.Hash) != sha256.Size }) {
		return record{}, &store.CorruptError{Where: fmt.Sprintf("tokens of %q", d.Key), Reason: "they cannot be read", Err: err}
	}
	return r, nil
}

// findEntry returns the entry of a hash, or nil. It takes as long for each hash.
func (r *record) findEntry(h hash) (found *entry) {
	for i := range r.Tokens {
		if subtle.ConstantTimeCompare(r.Tokens[i].Hash, h[:]) == 1 {
			found = &r.Tokens[i]
		}
	}
	return found
}

// dropOld removes expired entries, and the oldest beyond maxTokens - 1, which it returns.
func (r *record) dropOld(now time.Time) (oldest []entry) {
	r.Tokens = slices.DeleteFunc(r.Tokens, func(e entry) bool { return !e.isValid(now) })
	n := max(len(r.Tokens)-maxTokens+1, 0)
	oldest, r.Tokens = r.Tokens[:n], r.Tokens[n:]
	return oldest
}

// derive returns the 48 bytes of a key token for an admin token and a nonce.
func derive(admin string, nonce []byte, key string) []byte {
	mac := hmac.New(sha512.New384, []byte(admin))
	mac.Write([]byte("kazahana idbuilder key token\x00"))
	mac.Write([]byte{byte(len(nonce))})
	mac.Write(nonce)
	mac.Write([]byte(key))
	return mac.Sum(nil)
}
