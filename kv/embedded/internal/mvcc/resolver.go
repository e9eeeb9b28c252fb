// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// Resolver decides which transactions conflict. It knows, for every key, the
// version of the last write conflict range over it.
//
// Most write conflict ranges are single keys that were set, and those the
// window knows anyway: its entries have the versions, and its nodes the highest
// below them. The others are kept as a step function over the key space, as
// FoundationDB does with all, in a tree that is ranked likewise. So a check
// costs the logarithm of what was written in the last five seconds, however
// wide the range is and whatever the database holds.
type Resolver struct {
	window *Window
	steps  btree.Tree[step]
	oldest int64  // versions below are forgotten
	added  int    // steps, at most, since the last sweep
	swept  []byte // where the next sweep goes on
}

// step is the version of the last write to a key, and to the keys after it up
// to the next step. The latter is never the higher one: a range that begins
// just after a key has a step of its own there.
type step struct{ at, gap int64 }

// LeastSwept is how many steps the sweep of a commit looks at if none were added.
const LeastSwept = 16

// NewResolver returns the resolver of what is written to a window.
func NewResolver(w *Window) *Resolver {
	r := &Resolver{window: w, steps: btree.Ranked(func(s *step) btree.Rank { return btree.Rank{Top: s.at} })}
	r.steps.Set([]byte{}, step{})
	return r
}

// Conflicts reports whether anything in the ranges was written after version.
func (r *Resolver) Conflicts(reads []kv.KeyRange, version int64) bool {
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

// ConflictingReads returns the ranges in which anything was written after version.
func (r *Resolver) ConflictingReads(reads []kv.KeyRange, version int64) (lost []kv.KeyRange) {
	for i := range reads {
		if r.Conflicts(reads[i:i+1], version) {
			lost = append(lost, reads[i])
		}
	}
	return lost
}

// lastKey returns the highest version within the range that the window has.
func (r *Resolver) lastKey(read kv.KeyRange) int64 {
	if !keys.IsSuccessor(read.End, read.Begin) {
		return r.window.entries.TopWithin(read.Begin, read.End)
	}
	if e := r.window.entries.Get(read.Begin); e != nil {
		return e.conflictAt()
	}
	return 0
}

// lastRange returns the highest version within the range that the steps have.
func (r *Resolver) lastRange(read kv.KeyRange) int64 {
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

// AddWrites records write conflict ranges at version, which is not below any before.
// The resolver keeps the ranges' keys.
func (r *Resolver) AddWrites(writes []kv.KeyRange, version int64) {
	for i := range writes {
		begin, end := writes[i].Begin, writes[i].End
		switch {
		case keys.IsSuccessor(end, begin):
			r.AddKey(begin, version)
		case bytes.Compare(begin, end) < 0:
			r.addRange(begin, end, version)
		}
	}
}

// AddKey records a write to one key, at a version that may be an old one.
func (r *Resolver) AddKey(key []byte, version int64) {
	var c btree.Cursor[step]
	found := c.Locate(&r.steps, key)
	s := *c.Floor(found)
	if !found {
		s.at = s.gap
	}
	s.at = max(s.at, version)
	c.Put(&r.steps, key, found, s)
	r.added++
}

func (r *Resolver) addRange(begin, end []byte, version int64) {
	var c btree.Cursor[step]
	if !c.Locate(&r.steps, end) {
		gap := c.Floor(false).gap
		c.Put(&r.steps, end, false, step{at: gap, gap: gap})
	}
	r.steps.RemoveRange(begin, end)
	r.steps.Set(begin, step{at: version, gap: version})
	r.added += 2
}

// Preserve records what the window says of the keys that m is about to write
// to: m is not a write conflict range, what it replaces may be.
func (r *Resolver) Preserve(m *mutation.Mutation) {
	if m.Op != mutation.OpClearRange {
		if e := r.window.entries.Get(m.Key); e != nil && e.conflictAt() > 0 {
			r.AddKey(m.Key, e.conflictAt())
		}
		return
	}
	var c btree.Cursor[entry]
	for ok := c.Seek(&r.window.entries, m.Key); ok && m.Covers(c.Key()); ok = c.Next() {
		if at := c.Value().conflictAt(); at > r.oldest {
			r.AddKey(c.Key(), at)
		}
	}
}

// Steps yields the write conflict ranges that the resolver knows in addition to the window's
// entries, in order, with their versions. The last one has no end.
func (r *Resolver) Steps() iter.Seq2[kv.KeyRange, int64] {
	return func(yield func(kv.KeyRange, int64) bool) {
		var c btree.Cursor[step]
		for ok := c.Seek(&r.steps, nil); ok; {
			begin, s, end := c.Key(), *c.Value(), []byte(nil)
			if ok = c.Next(); ok {
				end = c.Key()
			}
			if s.at != s.gap {
				after := keys.Successor(begin)
				if !yield(kv.KeyRange{Begin: begin, End: after}, s.at) {
					return
				}
				begin = after
			}
			if !yield(kv.KeyRange{Begin: begin, End: end}, s.gap) {
				return
			}
		}
	}
}

// Sweep forgets versions below oldest. It looks at twice as many steps as were added since
// the last sweep, and least more, going on where that one stopped: so there are at most about
// twice as many as were added lately. A forgotten step is dropped where those before it are
// forgotten too, so that theirs take its place.
func (r *Resolver) Sweep(oldest int64, least int) {
	r.oldest = max(r.oldest, oldest)
	n := 2*r.added + least
	r.added = 0
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
