// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// buildStore is a store as package build sees it.
type buildStore struct{ *source }

// Transact implements [build.Store].
func (s buildStore) Transact(ctx context.Context, fn func(build.Transaction) error) error {
	return s.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		return fn(&buildTransaction{source: s.source, t: t, store: o})
	})
}

// Read implements [build.Store].
func (s buildStore) Read(ctx context.Context, fn func(kv.ReadTransaction, build.Place) error) error {
	return s.place.db.readOnly(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		return fn(t.Reader, o.buildPlace(s.place))
	})
}
