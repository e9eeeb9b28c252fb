// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

const (
	// sweepEvery is the number of expiring documents after which a process removes expired
	// ones, and sweepSize how many it removes.
	sweepEvery, sweepSize = 16, 64
	// sweepGrace is how long expired documents stay: clocks differ.
	sweepGrace = time.Minute
)

// sweepExpired removes expired documents.
func (s *Store) sweepExpired(ctx context.Context) error {
	until := nanoseconds(s.now().Add(-sweepGrace))
	_, err := write(ctx, s, "sweep", func(tx *transaction) (none struct{}, err error) {
		r := kv.KeyRange{Begin: tx.keys.pack(letterExpiry), End: tuple.AppendInt(tx.keys.pack(letterExpiry), until)}
		due, err := tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: sweepSize}).Slice(ctx)
		for _, pair := range due {
			if err = errors.Join(err, tx.removeExpired(ctx, pair.Key)); err != nil {
				break
			}
		}
		return none, err
	})
	return err
}
