// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/index/rank"
)

// verifyRanks compares the counts of index i, if it is one of ranks, with its entries.
func (v *verifier) verifyRanks(ctx context.Context, i int) error {
	if v.record.Indexes[i].Kind != index.Rank {
		return nil
	}
	var at rank.Position
	for done := false; !done; {
		next := at
		err := v.place.db.readOnly(ctx, func(t *transaction) error {
			o, err := t.openStore(ctx, v.place)
			if err != nil || o == nil || o.indexes[i].State != index.Readable {
				done = true
				return err
			}
			next, done, err = o.indexes[i].Ranks().Verify(ctx, t.Reader, at, v.place.db.options.BuildBatch)
			return err
		})
		var fault *rank.CountError
		if errors.As(err, &fault) {
			v.report.addFault(Fault{Index: v.record.Indexes[i].KeyName(), Key: slices.Clone(fault.Key), Reason: fault.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		at = next
	}
	return nil
}
