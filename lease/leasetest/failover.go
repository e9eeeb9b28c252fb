// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/lease"
)

// failover is a store that tells when it may have forgotten something.
type failover struct {
	lease.Store
	life *atomic.Int64
}

func (s failover) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return s.Store.Update(ctx, service, func(tx lease.Tx) error { return fn(failoverTx{tx, s.life.Load()}) })
}

type failoverTx struct {
	lease.Tx
	life int64
}

func (t failoverTx) Incarnation() string { return fmt.Sprint("life ", t.life) }
