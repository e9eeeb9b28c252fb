// SPDX-License-Identifier: Apache-2.0

package mvcc

import "bytes"

// position is a key, or the place just behind it.
type position struct {
	key    []byte
	behind bool
}

// passed reports whether key lies before the place.
func (p position) passed(key []byte) bool {
	c := bytes.Compare(key, p.key)
	return c < 0 || c == 0 && p.behind
}

// before reports whether p lies before q.
func (p position) before(q position) bool {
	c := bytes.Compare(p.key, q.key)
	return c < 0 || c == 0 && !p.behind && q.behind
}
