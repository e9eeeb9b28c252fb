// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeset"
)

// knownKeys are the keys of which a transaction's reads have told what the
// database holds, absent ones included. FoundationDB's client caches those, and
// it shows: a batch that is limited in bytes ends where the next key would have
// to be fetched, so that the number of batches, and with it the size of the
// transaction, depends on what was read before. This engine keeps no values, it
// only remembers which keys the client would know. A nil set is empty.
type knownKeys struct {
	ranges        rangeset.Set
	pendingRanges []kv.KeyRange // not taken into ranges yet
	looks         int           // how often late was looked through one by one
	room          [1]kv.KeyRange
}

// fewKnown is how many ranges are looked through one by one each time, and
// firstLooks how often more are, before they are brought in order.
const fewKnown, firstLooks = 8, 4

// fork returns a copy that can be changed on its own.
func (k *knownKeys) fork() *knownKeys {
	if k.empty() {
		return &knownKeys{}
	}
	k.applyLate()
	return &knownKeys{ranges: k.ranges.Snapshot()}
}

func (k *knownKeys) empty() bool { return k == nil || len(k.pendingRanges) == 0 && k.ranges.IsEmpty() }

// add makes the keys of r known. It keeps the range.
func (k *knownKeys) add(r kv.KeyRange) {
	if bytes.Compare(r.Begin, r.End) >= 0 {
		return
	}
	if n := len(k.pendingRanges); n > 0 {
		switch last := &k.pendingRanges[n-1]; {
		case bytes.Equal(last.End, r.Begin): // the next batch of a range
			last.End = r.End
			return
		case bytes.Equal(last.Begin, r.End):
			last.Begin = r.Begin
			return
		}
	}
	if k.pendingRanges == nil {
		k.pendingRanges = k.room[:0]
	}
	k.pendingRanges = append(k.pendingRanges, r)
}

// overlaps reports whether any key of r is known.
func (k *knownKeys) overlaps(r kv.KeyRange) bool {
	if k.empty() {
		return false
	}
	if k.ranges.IsEmpty() && (len(k.pendingRanges) <= fewKnown || k.looks < firstLooks) {
		k.looks++
		for _, l := range k.pendingRanges {
			if bytes.Compare(l.Begin, r.End) < 0 && bytes.Compare(r.Begin, l.End) < 0 {
				return true
			}
		}
		return false
	}
	around, known := k.around(r.Begin, false)
	return known || bytes.Compare(around.End, r.End) < 0
}

// around returns the longest range that holds key, or with below what lies just
// below it, of keys that are all known or all unknown.
func (k *knownKeys) around(key []byte, below bool) (r kv.KeyRange, known bool) {
	if k.empty() {
		return kv.KeyRange{Begin: []byte{}, End: keys.SystemEnd}, false
	}
	k.applyLate()
	return k.ranges.Around(key, below)
}

// applyLate takes late ranges into ranges.
func (k *knownKeys) applyLate() {
	if k.ranges.IsEmpty() && len(k.pendingRanges) > 1 {
		k.ranges.Build(k.pendingRanges)
	} else {
		for _, r := range k.pendingRanges {
			k.ranges.Join(r)
		}
	}
	k.pendingRanges = k.pendingRanges[:0]
}
