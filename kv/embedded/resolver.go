// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// resolver decides which transactions conflict. It knows, for every key, the
// version of the last write conflict range over it.
//
// Most write conflict ranges are single keys that were set, and those the
// window knows anyway: its entries have the versions, and its nodes the highest
// below them. The others are kept as a step function over the key space, as
// FoundationDB does with all, in a tree that is ranked likewise. So a check
// costs the logarithm of what was written in the last five seconds, however
// wide the range is and whatever the database holds.
type resolver struct {
	window *window
	steps  btree.Tree[step]
	oldest int64  // versions below are forgotten
	swept  []byte // where the next sweep goes on
}

// step is the version of the last write to a key, and to the keys behind it up
// to the next step. The latter is never the higher one: a range that begins
// just behind a key has a step of its own there.
type step struct{ at, gap int64 }

func newResolver(w *window) *resolver {
	r := &resolver{window: w, steps: btree.Ranked(func(s *step) btree.Rank { return btree.Rank{Top: s.at} })}
	r.steps.Set([]byte{}, step{})
	return r
}

// conflicts reports whether anything in the ranges was written after version.
func (r *resolver) conflicts(reads []kv.KeyRange, version int64) bool {
	keys, ranges := r.window.entries.Top() > version, r.steps.Top() > version
	if !keys && !ranges {
		return false
	}
	for i := range reads {
		if keys && r.lastKey(reads[i]) > version || ranges && r.lastRange(reads[i]) > version {
			return true
		}
	}
	return false
}

// conflicting returns the ranges in which anything was written after version.
func (r *resolver) conflicting(reads []kv.KeyRange, version int64) (lost []kv.KeyRange) {
	for i := range reads {
		if r.conflicts(reads[i:i+1], version) {
			lost = append(lost, reads[i])
		}
	}
	return lost
}

// lastKey returns the highest version within the range that the window has.
func (r *resolver) lastKey(read kv.KeyRange) int64 {
	if !keys.IsSuccessor(read.End, read.Begin) {
		return r.window.entries.TopWithin(read.Begin, read.End)
	}
	if e := r.window.entries.Get(read.Begin); e != nil {
		return e.conflictAt()
	}
	return 0
}

// lastRange returns the highest version within the range that the steps have.
func (r *resolver) lastRange(read kv.KeyRange) int64 {
	at, s := r.steps.Floor(read.Begin)
	here := s.gap
	if bytes.Equal(at, read.Begin) {
		here = s.at
	}
	if keys.IsSuccessor(read.End, read.Begin) {
		return here
	}
	return max(here, r.steps.TopWithin(read.Begin, read.End))
}

// add records write conflict ranges at version, which is not below any before.
// The resolver keeps the ranges' keys.
func (r *resolver) add(writes []kv.KeyRange, version int64) {
	for i := range writes {
		begin, end := writes[i].Begin, writes[i].End
		switch {
		case keys.IsSuccessor(end, begin):
			r.addKey(begin, version)
		case bytes.Compare(begin, end) < 0:
			r.addRange(begin, end, version)
		}
	}
}

// addKey records a write to one key, at a version that may be an old one.
func (r *resolver) addKey(key []byte, version int64) {
	var c btree.Cursor[step]
	found := c.Locate(&r.steps, key)
	s := *c.Floor(found)
	if !found {
		s.at = s.gap
	}
	s.at = max(s.at, version)
	c.Put(&r.steps, key, found, s)
}

func (r *resolver) addRange(begin, end []byte, version int64) {
	var c btree.Cursor[step]
	if !c.Locate(&r.steps, end) {
		gap := c.Floor(false).gap
		c.Put(&r.steps, end, false, step{at: gap, gap: gap})
	}
	r.steps.RemoveRange(begin, end)
	r.steps.Set(begin, step{at: version, gap: version})
}

// preserve records what the window says of the keys that m is about to write
// to: m is not a write conflict range, what it replaces may be.
func (r *resolver) preserve(m *mutation.Mutation) {
	if m.Op != mutation.OpClearRange {
		if e := r.window.entries.Get(m.Key); e != nil && e.conflictAt() > 0 {
			r.addKey(m.Key, e.conflictAt())
		}
		return
	}
	var c btree.Cursor[entry]
	for ok := c.Seek(&r.window.entries, m.Key); ok && m.Covers(c.Key()); ok = c.Next() {
		if at := c.Value().conflictAt(); at > r.oldest {
			r.addKey(c.Key(), at)
		}
	}
}

// sweep forgets versions below oldest in about n steps, going on where the last
// sweep stopped: a forgotten step is dropped where those before it are
// forgotten too, so that theirs take its place.
func (r *resolver) sweep(oldest int64, n int) {
	r.oldest = max(r.oldest, oldest)
	for n > 0 {
		var before btree.Cursor[step]
		forgotten := before.SeekBelow(&r.steps, r.swept) && before.Value().gap < r.oldest
		seen, next := r.steps.RetainLeaf(r.swept, func(s *step) bool {
			drop := forgotten && s.at < r.oldest
			forgotten = s.gap < r.oldest
			return !drop
		})
		n -= seen
		if r.swept = next; next == nil {
			return
		}
	}
}
