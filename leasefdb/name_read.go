// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// nameRead is a read of both keys of a name that has begun.
type nameRead struct {
	key            []byte
	fence, renewal kv.Future[[]byte]
}

func (r nameRead) wait(ctx context.Context, name string) (State, error) {
	value, err := r.fence.Get(ctx)
	if err != nil {
		return State{}, err
	}
	count, err := r.renewal.Get(ctx)
	if err != nil {
		return State{}, err
	}
	return decodeState(name, r.key, value, count)
}
