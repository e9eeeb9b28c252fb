// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/lease"
)

// switchStore is a store that can be replaced.
type switchStore struct{ current atomic.Pointer[storeBox] }

type storeBox struct{ lease.Store }

func (s *switchStore) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return s.current.Load().Update(ctx, service, fn)
}
