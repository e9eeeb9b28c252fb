// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// resolver decides who conflicts. It knows, for every key, the version of the
// last write conflict range over it: a step function over the key space, whose
// steps are the entries of a ranked tree. The highest version in a range is
// found through the ranks of whole subtrees, so a check costs the logarithm of
// the number of steps, however wide the range is and whatever the database
// holds. FoundationDB keeps the same function in a skip list.
type resolver struct {
	steps  tree[int64]
	oldest int64  // versions below are forgotten
	swept  []byte // where the next sweep goes on
}

func newResolver() *resolver {
	r := &resolver{steps: tree[int64]{rank: func(v *int64) int64 { return *v }}}
	r.steps.set([]byte{}, 0)
	return r
}

// conflicts reports whether anything in the ranges was written after version.
func (r *resolver) conflicts(reads []kv.KeyRange, version int64) bool {
	for i := range reads {
		if r.last(reads[i].Begin, reads[i].End) > version {
			return true
		}
	}
	return false
}

// last returns the highest version of a write within [begin, end).
func (r *resolver) last(begin, end []byte) int64 {
	if bytes.Compare(begin, end) >= 0 {
		return 0
	}
	var c cursor[int64]
	c.seekFloor(&r.steps, begin)
	return max(*c.val(), topWithin(r.steps.root, begin, end))
}

// topWithin returns the highest rank of the entries in [begin, end) below n. A
// nil begin or end is no bound.
func topWithin(n *node[int64], begin, end []byte) int64 {
	if begin == nil && end == nil {
		return n.top
	}
	var top int64
	if n.leaf() {
		from, to := 0, len(n.keys)
		if begin != nil {
			from, _ = n.search(begin)
		}
		if end != nil {
			to, _ = n.search(end)
		}
		for ; from < to; from++ {
			top = max(top, n.vals[from])
		}
		return top
	}
	first, last := 0, len(n.kids)-1
	if begin != nil {
		first = n.child(begin)
	}
	if end != nil {
		last = n.child(end)
	}
	if first == last {
		return topWithin(n.kids[first], begin, end)
	}
	for i := first + 1; i < last; i++ {
		top = max(top, n.kids[i].top)
	}
	return max(top, topWithin(n.kids[first], begin, nil), topWithin(n.kids[last], nil, end))
}

// add records write conflict ranges at version, which is not below any before.
// The resolver keeps the ranges' keys.
func (r *resolver) add(writes []kv.KeyRange, version int64) {
	for i := range writes {
		begin, end := writes[i].Begin, writes[i].End
		if bytes.Compare(begin, end) >= 0 {
			continue
		}
		var c cursor[int64]
		c.seekFloor(&r.steps, end)
		if !bytes.Equal(c.key(), end) {
			r.steps.set(end, *c.val())
		}
		r.removeWithin(begin, end)
		r.steps.set(begin, version)
	}
}

// removeWithin drops the steps in (begin, end).
func (r *resolver) removeWithin(begin, end []byte) {
	var c cursor[int64]
	ok := c.seek(&r.steps, begin)
	if ok && bytes.Equal(c.key(), begin) {
		ok = c.next()
	}
	if ok && bytes.Compare(c.key(), end) < 0 {
		r.steps.removeRange(c.key(), end)
	}
}

// sweep forgets versions below oldest in up to n steps, going on where the last
// sweep stopped: neighbouring steps that are both forgotten become one.
func (r *resolver) sweep(oldest int64, n int) {
	r.oldest = max(r.oldest, oldest)
	var (
		c    cursor[int64]
		drop [][]byte
	)
	ok := c.seek(&r.steps, r.swept)
	forgotten := false
	for ; ok && n > 0; n-- {
		old := *c.val() < r.oldest
		if old && forgotten {
			drop = append(drop, c.key())
		}
		forgotten = old
		r.swept = c.key()
		ok = c.next()
	}
	if !ok {
		r.swept = nil
	}
	for _, key := range drop {
		r.steps.remove(key)
	}
}
