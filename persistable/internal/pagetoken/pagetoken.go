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

	"github.com/kazahana-db/kazahana/internal/newer"
)

// The formats of tokens.
const (
	Numbered = 1 // of a query that has one plan, or a list of them that never changes
	Named    = 2 // of a query that may get further plans: it names what its plan reads
)

// backward is added to the format of a token of a page that ends before its position.
const backward = 2

const macSize = 16

// The errors of [Open].
var (
	ErrDamaged = errors.New("it is damaged")
	ErrForeign = errors.New("it belongs to another query, tenant or database, or was changed: begin with the first page")
	errNewer   = &newer.Error{Reason: "the token is of a format that this program does not know", Remedy: "begin with the first page, or send the token to a server of that version"}
)

// Position is a place in an index.
type Position struct {
	Format   int
	Backward bool   // the page ends before it
	Plan     []byte // of a numbered token one byte
	Key      []byte // relative to the index; of a token of the first or the last page empty
}

// Seal returns the token of a position: format, plan, key, and an HMAC-SHA-256 of
// them and the query, cut to 16 bytes.
func Seal(key, query []byte, p Position) string {
	b := []byte{byte(p.Format)}
	if p.Backward {
		b[0] += backward
	}
	if p.Format == Named {
		b = binary.AppendUvarint(b, uint64(len(p.Plan)))
	}
	b = append(append(b, p.Plan...), p.Key...)
	return base64.RawURLEncoding.EncodeToString(append(b, mac(key, query, b)...))
}

// Open returns the position of a token that [Seal] made with the same key and
// query, or [ErrDamaged], [ErrForeign], a [newer.Err] or an error of queryOf. That returns the query, given
// the position, which is not to be trusted yet.
func Open(key []byte, token string, queryOf func(Position) ([]byte, error)) (Position, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 2+macSize {
		return Position{}, ErrDamaged
	}
	body, sum := b[:len(b)-macSize], b[len(b)-macSize:]
	p, err := parse(body)
	if err != nil {
		return Position{}, err
	}
	query, err := queryOf(p)
	if err != nil {
		return Position{}, err
	}
	if !hmac.Equal(sum, mac(key, query, body)) {
		return Position{}, ErrForeign
	}
	return p, nil
}

// Only returns what [Open] takes for numbered tokens of one query.
func Only(query []byte) func(Position) ([]byte, error) {
	return func(p Position) ([]byte, error) {
		if p.Format != Numbered {
			return nil, ErrForeign
		}
		return query, nil
	}
}

// parse takes the body of a token apart, which has two bytes at least.
func parse(body []byte) (p Position, err error) {
	p.Format = int(body[0])
	if p.Backward = p.Format == Numbered+backward || p.Format == Named+backward; p.Backward {
		p.Format -= backward
	}
	size, rest := uint64(1), body[1:]
	switch p.Format {
	case Numbered:
	case Named:
		n := 0
		if size, n = binary.Uvarint(rest); n <= 0 {
			return p, ErrDamaged
		}
		rest = rest[n:]
	case 5, 6, 7, 8, 9: // any other byte is more likely to be damage
		return p, errNewer
	default:
		return p, ErrDamaged
	}
	if size > uint64(len(rest)) {
		return p, ErrDamaged
	}
	p.Plan, p.Key = rest[:size], rest[size:]
	return p, nil
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
