// SPDX-License-Identifier: Apache-2.0

// Package pagetoken makes the tokens of pages: a position in an index, as text,
// authenticated together with its query.
package pagetoken

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

const (
	tokenFormat = 1
	macSize     = 16
)

// The errors of [Open].
var (
	ErrDamaged = errors.New("it is damaged")
	ErrForeign = errors.New("it belongs to another query, tenant or database, or was changed: begin with the first page")
)

// Position is a place in an index.
type Position struct {
	Plan int    // which of the query's plans is used, from 1 to 255
	Key  []byte // relative to the index
}

// Seal returns the token of a position: format, plan, key, and an HMAC-SHA-256 of
// them and the query, cut to 16 bytes.
func Seal(key, query []byte, p Position) string {
	b := append([]byte{tokenFormat, byte(p.Plan)}, p.Key...)
	return base64.RawURLEncoding.EncodeToString(append(b, mac(key, query, b)...))
}

// Open returns the position of a token that [Seal] made with the same key and
// query, or [ErrDamaged] or [ErrForeign].
func Open(key, query []byte, token string) (Position, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 2+macSize || b[0] != tokenFormat {
		return Position{}, ErrDamaged
	}
	body, sum := b[:len(b)-macSize], b[len(b)-macSize:]
	if !hmac.Equal(sum, mac(key, query, body)) {
		return Position{}, ErrForeign
	}
	return Position{int(body[1]), body[2:]}, nil
}

func mac(key, query, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(AppendFramed(nil, body))
	h.Write(query)
	return h.Sum(nil)[:macSize]
}

// AppendFramed appends a part of the query to the bytes that identify it, with
// its length, so that different lists of parts are different bytes.
func AppendFramed(query, part []byte) []byte {
	return append(binary.BigEndian.AppendUint32(query, uint32(len(part))), part...)
}
