// SPDX-License-Identifier: Apache-2.0

package bazaar

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// firstOrder is the id of each tenant's first order; those of the others follow.
const firstOrder = idgen.ID(72623859790382856)

var start = time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC)

// accountID returns the id of a tenant's i-th account.
func accountID(i int) string { return newULID(i).String() }

// eventID returns the id of the i-th event.
func eventID(i int) ulid.ULID { return newULID(100 + i) }

func newULID(i int) (id ulid.ULID) {
	_ = id.SetTime(uint64(start.UnixMilli()) + uint64(i)) // it fails beyond the year 10889
	id[15] = byte(i)
	return id
}

// addForeignIndex adds to the header of the settings an index with an option that this
// version does not know, as a newer one may do.
func addForeignIndex(ctx context.Context, db *persistable.DB) error {
	return db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		d, err := db.Layer().Open(ctx, tx, []string{"settings"})
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return err
		}
		key := tuple.AppendString(tuple.AppendString(prefix, "S"), "Setting")
		value, err := tx.Get(key).Get(ctx)
		if err != nil {
			return err
		}
		header, err := tuple.Unpack(value)
		if err != nil {
			return err
		}
		header[1] = append(header[1].(tuple.Tuple), tuple.Tuple{"Setting_expiry", "Value:string:expires=5m", int64(2)})
		value, err = header.Pack()
		tx.Set(key, value)
		return err
	})
}
