// SPDX-License-Identifier: Apache-2.0

package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
)

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
