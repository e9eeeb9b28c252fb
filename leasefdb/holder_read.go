// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// HolderRead is a [Names.Holder] that has begun. Wait may be called several
// times.
type HolderRead struct {
	name string
	key  []byte
	read kv.Future[[]byte]
}

// Wait waits for the state and returns it.
func (h HolderRead) Wait(ctx context.Context) (State, error) {
	value, err := h.read.Get(ctx)
	if err != nil {
		return State{}, err
	}
	return decodeState(h.name, h.key, value, nil)
}
