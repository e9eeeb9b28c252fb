// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"slices"
)

// addToRanks adds the elements of a record in index i, a list of ranks. The batch inserts
// all elements at once, so that their reads are one round.
func (f *Fill) addToRanks(i int, entries *Set) {
	if f.elements == nil {
		f.elements = make([][][]byte, len(f.indexes))
	}
	ix := &f.indexes[i]
	for n := range entries.Keys(i) {
		key := entries.Key(i, n)
		f.size += rankLevels * ix.fillSize(key, Record{})
		f.elements[i] = append(f.elements[i], slices.Clone(key[len(ix.Prefix):]))
	}
}

// insertRanks writes the elements. Those that a concurrent write has inserted are there
// already, and are left out.
func (f *Fill) insertRanks(ctx context.Context) error {
	var all rankUpdates
	for i, elements := range f.elements {
		if len(elements) > 0 {
			all = append(all, f.indexes[i].Ranks().Start(f.tx, nil, elements))
		}
	}
	err := all.plan(ctx)
	if err == nil {
		all.write()
	}
	return err
}
