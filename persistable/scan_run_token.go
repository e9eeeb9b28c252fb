// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"

	"github.com/kazahana-db/kazahana/tuple"
)

// token returns the place of the scan: a page token whose key is the tuple
// (ended, limit, position, from, before). Keys that are nil are empty.
func (r *scanRun) token() string {
	if r.err != nil {
		return r.given
	}
	b := tuple.AppendInt(tuple.AppendBool(nil, r.ended), int64(r.cursor.limit))
	for _, key := range [][]byte{r.cursor.position, r.from, r.before} {
		b = tuple.AppendBytes(b, key)
	}
	return r.query.sealPosition(scanToken, r.cursor.plan, b)
}

// scanToken is the kind of tokens that are of scans, not of pages.
var scanToken = []byte("scan")

// resume goes to the place of a token.
func (r *scanRun) resume(token string) error {
	p, key, err := r.query.openPosition(scanToken, token)
	if err == nil {
		r.cursor.plan = p
		err = r.decode(key)
	}
	if err != nil {
		return fmt.Errorf("%w: a scan of %s: %w", ErrBadToken, r.query.record.Type, err)
	}
	return nil
}

func (r *scanRun) decode(key []byte) error {
	ended, b, err := tuple.ReadBool(key)
	if err != nil {
		return err
	}
	limit, b, err := tuple.ReadInt(b)
	if err != nil {
		return err
	}
	r.ended, r.cursor.limit = ended, int(limit)
	for _, key := range []*[]byte{&r.cursor.position, &r.from, &r.before} {
		if *key, b, err = tuple.ReadBytes(b); err != nil {
			return err
		}
		if len(*key) == 0 {
			*key = nil
		}
	}
	return nil
}
