// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/kv"
)

// Rank is the kind of a skip list of the records of each group, in the order of one field,
// which tells the position of a value. Fields are the group, which may be missing, and the
// field that orders.
const Rank Kind = "rank"

const rankLetter = "L"

var rankKind = descriptor{
	kind: Rank, idempotent: true, hasEntries: true, endsInID: true, needsFields: true,
	letter:   rankLetter,
	overhead: rank.LevelSize + 1, // the key of a count has a level, and a zero byte after it in conflict ranges
	update: func(tx kv.Transaction, ix *Index, erase, insert [][]byte) update {
		return ix.Ranks().Start(tx, erase, insert)
	},
	fill:   (*Fill).addElements,
	verify: verifyRanks,
}

// Ranks returns the list of an index of the kind Rank. Its elements are what follows the
// index's prefix: the packed group, score and id.
func (ix *Index) Ranks() *rank.List {
	return &rank.List{Elements: ix.Prefix, Levels: ix.auxiliaryPrefix(rankLetter)}
}

// verifyRanks compares counts with the elements. A position is a level and the element
// after it.
func verifyRanks(ctx context.Context, tx kv.ReadTransaction, ix *Index, at []byte, limit int) ([]byte, error) {
	var from rank.Position
	if len(at) > 0 {
		from = rank.Position{Level: int(at[0]), Element: at[1:]}
	}
	next, done, err := ix.Ranks().Verify(ctx, tx, from, limit)
	var wrong *rank.CountError
	if errors.As(err, &wrong) {
		return nil, &DerivedError{wrong.Key, wrong.Reason, wrong}
	}
	if err != nil || done {
		return nil, err
	}
	return append([]byte{byte(next.Level)}, next.Element...), nil
}
