// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

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
