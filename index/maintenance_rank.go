// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"

	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/kv"
)

// rankUpdates are updates of lists of ranks whose reads were started: those of all
// lists of a record are one round.
type rankUpdates []*rank.Update

// startRanks starts the update of an index's list. The keys of d are group, score and
// id; what follows the prefix is an element. Where the keys do not differ nothing is read.
func (u rankUpdates) startRanks(tx kv.Transaction, ix *Index, d difference) rankUpdates {
	var erase, insert [][]byte
	for s, ok := d.next(); ok; s, ok = d.next() {
		element := d.key(s)[len(ix.Prefix):]
		switch {
		case s.entries < 0:
			erase = append(erase, element)
		case s.stored < 0:
			insert = append(insert, element)
		}
	}
	if len(erase) == 0 && len(insert) == 0 {
		return u
	}
	return append(u, ix.Ranks().Start(tx, erase, insert))
}

// plan waits for the reads of the updates.
func (u rankUpdates) plan(ctx context.Context) error {
	for _, update := range u {
		if err := update.Plan(ctx); err != nil {
			return err
		}
	}
	return nil
}

// write completes the updates, which were planned.
func (u rankUpdates) write() {
	for _, update := range u {
		update.Write()
	}
}
