// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/index/rank"
)

// repair is an entry at fault that is to be mended.
type repair struct {
	index int
	key   []byte // nil: the version of the record
	id    []byte // packed, of the record that has the entry or should have it; nil if it cannot be read
}

// maxRepairs is how many entries a transaction mends at most.
const maxRepairs = 50

// setEntry writes an entry. An element of a list of ranks is counted as well.
func setEntry(ctx context.Context, t *transaction, ix *index.Index, key, value []byte) error {
	if ix.Kind != index.Rank {
		t.writer.Set(key, value)
		return nil
	}
	return changeRanks(ctx, ix.Ranks().Start(t.writer, nil, [][]byte{key[len(ix.Prefix):]}))
}

// clearEntry removes an entry.
func clearEntry(ctx context.Context, t *transaction, ix *index.Index, key []byte) error {
	if ix.Kind != index.Rank {
		t.writer.Clear(key)
		return nil
	}
	return changeRanks(ctx, ix.Ranks().Start(t.writer, [][]byte{key[len(ix.Prefix):]}, nil))
}

func changeRanks(ctx context.Context, u *rank.Update) error {
	if err := u.Plan(ctx); err != nil {
		return err
	}
	u.Write()
	return nil
}
