// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// What a write costs in memory beside its key and value: an entry of the window,
// its share of the nodes, and its place in the journal. What a version costs: its
// place in the history. Measured by TestWindowBytes.
const (
	writeCost   = 160
	versionCost = 80
	itemCost    = 80 // of the entry alone
)

// journal lists what was written to the window and not absorbed yet, in the
// order of versions: so absorbing costs what was written, not what the window
// holds, and the memory that it takes is known. It belongs to the window.
type journal struct {
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

func newJournal(age, soft int64) *journal {
	return &journal{span: age / groupsPerWindow, soft: soft, wake: make(chan struct{}, 1)}
}

// add notes a resolved mutation.
func (j *journal) add(m *mutation.Mutation, version int64) {
	n := len(j.groups)
	if n == 0 || j.groups[n-1].last != version && j.full(&j.groups[n-1], version) {
		j.groups = append(j.groups, journalGroup{first: version})
		n++
	}
	g := &j.groups[n-1]
	cost := int64(len(m.Key)+len(m.Value)) + writeCost
	if g.last != version {
		g.last = version
		cost += versionCost
	}
	if m.Op == mutation.OpClearRange {
		g.ranges = append(g.ranges, kv.KeyRange{Begin: m.Key, End: m.Value})
		cost += int64(len(m.Value)) + writeCost
	} else {
		g.keys = append(g.keys, m.Key)
	}
	g.bytes += cost
	j.keys.Add(1)
	if bytes := j.bytes.Add(cost); bytes > j.soft && bytes-cost <= j.soft {
		j.wakeAbsorber()
	}
}

// wakeAbsorber wakes the absorber.
func (j *journal) wakeAbsorber() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// full reports whether a group takes no further version.
func (j *journal) full(g *journalGroup, version int64) bool {
	return version-g.first > j.span || len(g.keys) >= journalGroupKeys || g.bytes > j.soft/groupsPerWindow
}

// cutGroups takes groups that are not newer than cutoff out of the journal, with
// about so many keys in all, and reports whether more are left. Their bytes
// count until the absorber calls discount.
func (j *journal) cutGroups(cutoff int64, most int) (groups []journalGroup, more bool) {
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

// discount subtracts absorbed groups from the journal's size. It returns how many
// writes they have, and their bytes.
func (j *journal) discount(groups []journalGroup) (writes, bytes int64) {
	for i := range groups {
		j.bytes.Add(-groups[i].bytes)
		bytes += groups[i].bytes
		writes += int64(len(groups[i].keys) + len(groups[i].ranges))
	}
	j.keys.Add(-writes)
	return writes, bytes
}

// stretchOf is a part of the key space, up to and with its last key.
type stretchOf struct{ first, last []byte }

// stretches returns the disjoint parts, in order, in which the window may hold
// what groups have written. The end of a cleared range is one of them: clearing
// may have put an entry there.
func stretches(groups []journalGroup) []stretchOf {
	n := 0
	for i := range groups {
		n += len(groups[i].keys) + len(groups[i].ranges)
	}
	all := make([]stretchOf, 0, n)
	for i := range groups {
		for _, key := range groups[i].keys {
			all = append(all, stretchOf{key, key})
		}
		for _, r := range groups[i].ranges {
			all = append(all, stretchOf{r.Begin, r.End})
		}
	}
	slices.SortFunc(all, func(a, b stretchOf) int { return bytes.Compare(a.first, b.first) })
	kept := all[:0]
	for _, s := range all {
		if n := len(kept); n > 0 && bytes.Compare(s.first, kept[n-1].last) <= 0 {
			kept[n-1].last = keys.Max(kept[n-1].last, s.last)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
