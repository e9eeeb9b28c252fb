// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// Page is a part of a query's records.
type Page[T any] struct {
	Records []*T
	// Next is the token of the next page, empty on the last one. It is made of
	// letters, digits, "-" and "_".
	Next string
}

// Page returns the records behind a token, or the first ones if token is empty:
// as many as Limit says, or [Options].PageSize without one. A token holds a
// place in the index, so it works also if the record there was deleted. It is
// bound to the query (index, bounds, direction), the tenant and the database,
// and authenticated: any other token is an [ErrBadToken]. Tokens do not expire;
// the size of the page may differ from call to call.
//
// Each page is a transaction of its own.
func (q Query[T]) Page(ctx context.Context, token string) (Page[T], error) {
	if err := q.usable(); err != nil {
		return Page[T]{}, err
	}
	from := cursor{limit: min(orDefault(q.limit, q.place.db.options.PageSize), maxPage)}
	size := from.limit
	if token != "" {
		var err error
		if from.plan, from.position, err = q.openToken(token); err != nil {
			return Page[T]{}, err
		}
	}
	from.limit++ // one more tells whether there is a next page
	var last cursor
	records, err := q.page(ctx, from, size, &last)
	if err != nil || len(records) <= size {
		return Page[T]{Records: records}, err
	}
	return Page[T]{Records: records[:size], Next: q.token(last)}, nil
}

// maxPage leaves room for one more in a range read's limit, an int32 in
// FoundationDB.
const maxPage = math.MaxInt32 - 1

// page collects the records of a page and one more, and notes the place of the
// page's last one.
func (q *Query[T]) page(ctx context.Context, from cursor, size int, last *cursor) (records []*T, err error) {
	err = q.once(ctx, from, func() { records = nil }, func(t *transaction, c *cursor) error {
		for v, err := range q.items(ctx, t, c) {
			if err != nil {
				return err
			}
			if records = append(records, v); len(records) == size {
				*last = *c
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

const (
	tokenFormat  = 1
	tokenMACSize = 16
)

// token returns the text of a place in the index: format, plan, key.
func (q *Query[T]) token(c cursor) string {
	b := append([]byte{tokenFormat, byte(c.plan)}, c.position...)
	return base64.RawURLEncoding.EncodeToString(append(b, q.mac(b)...))
}

func (q *Query[T]) openToken(text string) (plan int, position []byte, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 2+tokenMACSize || b[0] != tokenFormat {
		return 0, nil, fmt.Errorf("%w: it is damaged", ErrBadToken)
	}
	body, mac := b[:len(b)-tokenMACSize], b[len(b)-tokenMACSize:]
	if !hmac.Equal(mac, q.mac(body)) {
		return 0, nil, fmt.Errorf("%w: it belongs to another query, tenant or database, or was changed: begin with the first page", ErrBadToken)
	}
	return int(body[1]), body[2:], nil
}

// mac authenticates a token's body together with everything it is bound to.
func (q *Query[T]) mac(body []byte) []byte {
	h := hmac.New(sha256.New, q.place.db.tokenKey)
	h.Write(frame(nil, body))
	for _, name := range q.place.path {
		h.Write(frame(nil, []byte(name)))
	}
	b := frame(nil, []byte(q.record.typ))
	b = append(b, boolByte(q.reverse))
	for _, p := range append([]plan{q.plan}, q.others...) {
		name := ""
		if p.index != byID {
			d := &q.record.indexes[p.index].Definition
			name = d.KeyName() + ":" + d.Layout()
		}
		b = p.bounds.AppendBytes(frame(b, []byte(name)))
	}
	h.Write(b)
	return h.Sum(nil)[:tokenMACSize]
}

func frame(dst, v []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
