// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

type fencedDatabase struct {
	kv.Database
	fence Fence
}

// Begin implements [kv.Database].
func (d fencedDatabase) Begin() (kv.Transaction, error) {
	tx, err := d.Database.Begin()
	if err != nil {
		return nil, err
	}
	return &fencedTransaction{Transaction: tx, fence: d.fence}, nil
}

// Transact implements [kv.Transactor].
func (d fencedDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return d.Database.Transact(ctx, func(tx kv.Transaction) error {
		fenced := &fencedTransaction{Transaction: tx, fence: d.fence}
		if err := fn(fenced); err != nil {
			return err
		}
		return fenced.startCheck().Wait(ctx)
	})
}
