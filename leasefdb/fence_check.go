// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// FenceCheck is a check of a fence that has begun. Wait may be called several
// times.
type FenceCheck struct {
	fence Fence
	read  kv.Future[[]byte]
}

// Wait waits for the answer to the check and returns it.
func (c FenceCheck) Wait(ctx context.Context) error {
	if c.fence.IsZero() {
		return nil
	}
	value, err := c.read.Get(ctx)
	if err != nil {
		return err
	}
	return c.fence.owns(value)
}
