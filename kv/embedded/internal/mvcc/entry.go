// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// Knowledge is what the window says about a key or a gap between keys.
type Knowledge uint8

const (
	Unknown Knowledge = iota // nothing: ask the base
	Absent                   // there is no value
	Present                  // there is a value (of a key, not of a gap)
)

// String returns the name of what is known.
func (k Knowledge) String() string { return [...]string{"unknown", "absent", "present"}[k] }

// entry is one key of the window and the gap behind it, up to the next entry.
type entry struct {
	value    []byte // where point is present
	version  int64  // of the last write to the key; 0 where point is unknown
	gapAt    int64  // version of the range clear that emptied the gap
	point    Knowledge
	gap      Knowledge // unknown or absent
	conflict bool      // the last write to the key is a write conflict range that only this entry tells of
}

// conflictAt returns the version of the write conflict range that the entry
// tells of, 0 if it does not.
func (e *entry) conflictAt() int64 {
	if e.conflict {
		return e.version
	}
	return 0
}

// rank tells the tree of the write conflict range, and whether there is a value.
func (e *entry) rank() btree.Rank { return btree.Rank{Top: e.conflictAt(), Live: e.point == Present} }

// forget returns the entry without what is not newer than version.
func (e entry) forget(version int64) (left entry, changed bool) {
	if e.point != Unknown && e.version <= version {
		e.point, e.value, e.version, e.conflict, changed = Unknown, nil, 0, false, true
	}
	if e.gap == Absent && e.gapAt <= version {
		e.gap, e.gapAt, changed = Unknown, 0, true
	}
	return e, changed
}

// copyToBase writes to b what the entry says of its key, and of the gap behind it,
// which ends at next, up to version cutoff.
func (e *entry) copyToBase(b *base.Batch, key, next []byte, cutoff int64) error {
	point := e.point != Unknown && e.version <= cutoff
	gap := e.gap == Absent && e.gapAt <= cutoff
	if point && gap && e.point == Absent {
		return b.RemoveRange(key, next)
	}
	if point && e.point == Present {
		if err := b.Set(key, e.value); err != nil {
			return err
		}
	} else if point {
		if err := b.Remove(key); err != nil {
			return err
		}
	}
	if gap {
		return b.RemoveRange(keys.Successor(key), next)
	}
	return nil
}
