// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// What a write costs in memory in addition to its key and value: an entry of the window,
// its share of the nodes, and its place in the journal. What a version costs: its
// place in the history. Measured by TestWindowBytes.
const (
	WriteCost   = 160
	versionCost = 80
	itemCost    = 80 // of the entry alone
)

// Journal lists what was written to the window and not absorbed yet, in the
// order of versions: so absorbing costs what was written, not what the window
// holds, and the memory that it takes is known.
//
// It belongs to the window: one goroutine at a time uses the window and calls Cut and
// BytesSince. The other methods are safe for concurrent use.
type Journal struct {
	groups []journalGroup
	span   int64 // versions that one group may hold, beyond one
	bytes  atomic.Int64
	keys   atomic.Int64 // writes, not different keys

	soft int64         // size at which the absorber is called
	wake chan struct{} // has room for one
}

// journalGroup is what neighbouring versions wrote. It is absorbed as a whole.
type journalGroup struct {
	first, last int64 // versions
	keys        [][]byte
	ranges      []kv.KeyRange // cleared
	bytes       int64
}

const (
	journalGroupKeys = 4096
	groupsPerWindow  = 100
)

// NewJournal returns an empty journal. Groups of versions are age/100 versions long,
// and the absorber is called when the writes take soft bytes.
func NewJournal(age, soft int64) *Journal {
	return &Journal{span: age / groupsPerWindow, soft: soft, wake: make(chan struct{}, 1)}
}

// add notes a resolved mutation.
func (j *Journal) add(m *mutation.Mutation, version int64) {
	n := len(j.groups)
	if n == 0 || j.groups[n-1].last != version && j.full(&j.groups[n-1], version) {
		j.groups = append(j.groups, journalGroup{first: version})
		n++
	}
	g := &j.groups[n-1]
	cost := int64(len(m.Key)+len(m.Value)) + WriteCost
	if g.last != version {
		g.last = version
		cost += versionCost
	}
	if m.Op == mutation.OpClearRange {
		g.ranges = append(g.ranges, kv.KeyRange{Begin: m.Key, End: m.Value})
		cost += int64(len(m.Value)) + WriteCost
	} else {
		g.keys = append(g.keys, m.Key)
	}
	g.bytes += cost
	j.keys.Add(1)
	if bytes := j.bytes.Add(cost); bytes > j.soft && bytes-cost <= j.soft {
		j.WakeAbsorber()
	}
}

// Bytes returns what the writes that are not absorbed take in memory.
func (j *Journal) Bytes() int64 { return j.bytes.Load() }

// BytesSince returns what those of them take that are newer than a version.
func (j *Journal) BytesSince(version int64) (bytes int64) {
	for i := len(j.groups) - 1; i >= 0 && j.groups[i].last > version; i-- {
		bytes += j.groups[i].bytes
	}
	return bytes
}

// Writes returns how many writes are not absorbed.
func (j *Journal) Writes() int64 { return j.keys.Load() }

// Wake returns the channel from which the absorber learns that it is to begin.
func (j *Journal) Wake() <-chan struct{} { return j.wake }

// WakeAbsorber wakes the absorber.
func (j *Journal) WakeAbsorber() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// full reports whether a group takes no further version.
func (j *Journal) full(g *journalGroup, version int64) bool {
	return version-g.first > j.span || len(g.keys) >= journalGroupKeys || g.bytes > j.soft/groupsPerWindow
}

// Cut takes groups that are not newer than cutoff out of the journal, with
// about so many keys in all, and reports whether more are left. Their bytes
// count until [Journal.Discount].
func (j *Journal) Cut(cutoff int64, most int) (groups JournalCut, more bool) {
	n, keys := 0, 0
	for n < len(j.groups) && j.groups[n].last <= cutoff && (n == 0 || keys < most) {
		keys += len(j.groups[n].keys)
		n++
	}
	groups = slices.Clone(j.groups[:n])
	clear(j.groups[:n])
	j.groups = j.groups[n:]
	return groups, len(j.groups) > 0 && j.groups[0].last <= cutoff
}

// Discount subtracts absorbed groups from the journal's size. It returns how many
// writes they have.
func (j *Journal) Discount(groups JournalCut) (writes int64) {
	for i := range groups {
		j.bytes.Add(-groups[i].bytes)
		writes += int64(len(groups[i].keys) + len(groups[i].ranges))
	}
	j.keys.Add(-writes)
	return writes
}

// JournalCut are groups that were cut out of the journal to be absorbed.
type JournalCut []journalGroup

// Span is a part of the key space, up to and with its last key.
type Span struct{ First, Last []byte }

// Cutoff returns the last version of the groups.
func (groups JournalCut) Cutoff() int64 { return groups[len(groups)-1].last }

// Spans returns the disjoint parts, in order, in which the window may hold
// what the groups have written. The end of a cleared range is one of them: clearing
// may have put an entry there.
func (groups JournalCut) Spans() []Span {
	n := 0
	for i := range groups {
		n += len(groups[i].keys) + len(groups[i].ranges)
	}
	all := make([]Span, 0, n)
	for i := range groups {
		for _, key := range groups[i].keys {
			all = append(all, Span{key, key})
		}
		for _, r := range groups[i].ranges {
			all = append(all, Span{r.Begin, r.End})
		}
	}
	slices.SortFunc(all, func(a, b Span) int { return bytes.Compare(a.First, b.First) })
	kept := all[:0]
	for _, s := range all {
		if n := len(kept); n > 0 && bytes.Compare(s.First, kept[n-1].Last) <= 0 {
			kept[n-1].Last = keys.Max(kept[n-1].Last, s.Last)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
