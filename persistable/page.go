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

// page hands the records behind a token to take, those of the page, of which
// there are size at most, and perhaps one more. It returns the token of the next
// page, empty on the last one.
func (q *query) page(ctx context.Context, token string, take func(any)) (size int, next string, err error) {
	if err := q.usable(); err != nil {
		return 0, "", err
	}
	from := cursor{limit: min(orDefault(q.limit, q.place.db.options.PageSize), maxPage)}
	size = from.limit
	if token != "" {
		if from.plan, from.position, err = q.openToken(token); err != nil {
			return 0, "", err
		}
	}
	from.limit++ // one more tells whether there is a next page
	last, more, err := q.pageFrom(ctx, from, size, take)
	if err != nil || !more {
		return size, "", err
	}
	return size, q.token(last), nil
}

// maxPage leaves room for one more in a range read's limit, an int32 in
// FoundationDB.
const maxPage = math.MaxInt32 - 1

// pageFrom hands the records of a page and one more to take. It returns the
// place of the page's last one, and whether there was one more.
func (q *query) pageFrom(ctx context.Context, from cursor, size int, take func(any)) (last cursor, more bool, err error) {
	n := 0
	err = q.once(ctx, from, func() { n = 0; take(nil) }, func(t *transaction, c *cursor) error {
		for v, err := range q.items(ctx, t, c) {
			if err != nil {
				return err
			}
			take(v)
			if n++; n == size {
				last = *c
			}
		}
		return nil
	})
	return last, n > size, err
}

const (
	tokenFormat  = 1
	tokenMACSize = 16
)

// token returns the text of a place in the index: format, plan, key.
func (q *query) token(c cursor) string {
	b := append([]byte{tokenFormat, byte(c.plan)}, c.position...)
	return base64.RawURLEncoding.EncodeToString(append(b, q.mac(b)...))
}

func (q *query) openToken(text string) (plan int, position []byte, err error) {
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
func (q *query) mac(body []byte) []byte {
	h := hmac.New(sha256.New, q.place.db.tokenKey)
	h.Write(frame(nil, body))
	for _, name := range q.place.path {
		h.Write(frame(nil, []byte(name)))
	}
	b := frame(nil, []byte(q.record.Type))
	b = append(b, boolByte(q.reverse))
	for _, p := range append([]plan{q.plan}, q.others...) {
		name := ""
		if p.Index != byID {
			d := &q.record.Indexes[p.Index]
			name = d.KeyName() + ":" + d.Layout()
		}
		b = p.Bounds.AppendBytes(frame(b, []byte(name)))
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
