// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/kv"
)

// clear clears a range of keys of the place, unless its directory was moved or removed
// since it was opened. Programs that run read their directories and the headers of their
// stores again afterwards: those may be among the keys.
func (p *place) clear(ctx context.Context, db kv.Database, r kv.KeyRange) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		if p.path != nil {
			d, err := p.layer.Open(ctx, tx, p.path)
			if err != nil {
				return err
			}
			if prefix, err := d.Prefix(); err != nil || !bytes.Equal(prefix, p.prefix) {
				return errors.Join(fmt.Errorf("%s was moved or removed meanwhile: nothing was changed", database.QuotePath(p.path)), err)
			}
		}
		tx.ClearRange(r)
		return directory.Invalidate(ctx, tx)
	})
}
