// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// fingerprint tells whether the keys of a range are those that were shown.
type fingerprint struct{ hash.Hash }

func newFingerprint() fingerprint { return fingerprint{sha256.New()} }

func (f fingerprint) add(key []byte) {
	f.Write(binary.AppendUvarint(nil, uint64(len(key)))) // it does not fail
	f.Write(key)
}

// clear clears a range of keys of the place that was counted and shown, unless it is not what was
// shown: its directory was moved or removed, or, of a range that is not in one directory, keys were made
// or removed. Programs that run read their directories and the headers of their stores again
// afterwards: those may be among the keys.
func (p *place) clear(ctx context.Context, db kv.Database, r kv.KeyRange, shown clearResult, system bool) error {
	var sent bool // an attempt may have cleared the range, and its acknowledgement was lost
	return db.Transact(ctx, func(tx kv.Transaction) error {
		err := p.checkShown(ctx, tx, r, shown, sent)
		if err == nil && !system {
			err = p.protectStores(ctx, tx, r, shown.directories)
		}
		if err != nil {
			return err
		}
		sent = true
		tx.ClearRange(r)
		return directory.Invalidate(ctx, tx)
	})
}

// checkShown returns an error unless a range is as it was shown, or it is empty because an earlier
// attempt may have cleared it.
func (p *place) checkShown(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange, shown clearResult, sent bool) error {
	switch {
	case shown.inside != nil:
		d, err := p.layer.Open(ctx, tx, shown.inside.Path())
		if err != nil || !bytes.Equal(d.Reserve().Begin, shown.inside.Reserve().Begin) {
			return errors.Join(fmt.Errorf("%s was moved or removed while you were asked: nothing was changed", database.QuotePath(shown.inside.Path())), err)
		}
	case shown.Keys <= mostChecked && !shown.AtLeast:
		now, empty := newFingerprint(), true
		for found, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: mostChecked + 1, Mode: kv.ModeWantAll}).All(ctx) {
			if err != nil {
				return err
			}
			now.add(found.Key)
			empty = false
		}
		if !(sent && empty) && !bytes.Equal(now.Sum(nil), shown.print) {
			return errors.New("keys were made or removed in the range since it was shown: nothing was changed; look again")
		}
	}
	return nil
}

// protectStores refuses a range in these directories if one of them is in a locked tenant, or if the range
// has the header of a store.
func (p *place) protectStores(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange, directories []*directory.Directory) error {
	if err := tenants.CheckUnlocked(ctx, tx, directories...); err != nil {
		return fmt.Errorf("%w: nothing was changed; see kazahana tenant unlock, or give --%s if a program that runs under the lock may find other keys than it counts on", err, systemFlag)
	}
	for _, d := range directories {
		prefix := d.Reserve().Begin
		found, err := headers.Read(ctx, tx, prefix)
		if err != nil {
			return err
		}
		for _, h := range found {
			key := append(bytes.Clone(prefix), headers.Key(h.Type)...)
			if meet(r, kv.KeyRange{Begin: key, End: kv.Successor(key)}) {
				return protectedError(fmt.Sprintf("the range has the header of the store of %s in %s, without which programs take it for an empty one", h.Type, database.QuotePath(d.Path())))
			}
		}
	}
	return nil
}
