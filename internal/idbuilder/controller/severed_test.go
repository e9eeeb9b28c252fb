// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// severedStore is the store of a process that can be killed: after that no call reaches
// the store.
type severedStore struct {
	store.Store
	dead atomic.Bool
}

var errKilled = errors.New("the process was killed")

func (s *severedStore) sever() { s.dead.Store(true) }

func (s *severedStore) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if s.dead.Load() {
		return 0, errKilled
	}
	return s.Store.Put(ctx, kind, d)
}

func (s *severedStore) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	if s.dead.Load() {
		return errKilled
	}
	return s.Store.Delete(ctx, kind, key, version)
}
