// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// verifyCounts compares all counts and sums with the records: at one version if there are
// few of them, by recounts otherwise, unless the options exclude those.
func (v *verifier) verifyCounts(ctx context.Context) error {
	if !slices.ContainsFunc(v.record.Indexes, func(d index.Definition) bool { return d.Kind.HasTotals() }) {
		return nil
	}
	if v.cursor.position == nil || v.options.NoRecount { // else a call before has begun with recounts
		done, err := v.recountAtOnce(ctx)
		if done || err != nil {
			return err
		}
	}
	if v.options.NoRecount {
		v.skipTotals()
		return nil
	}
	return v.recountBesideWriters(ctx)
}

// recountAtOnce compares counts and sums at one version. It reports false if that takes
// too long, or more memory than maxRecount.
func (v *verifier) recountAtOnce(ctx context.Context) (done bool, err error) {
	var r *recount
	err = v.place.db.readOnly(ctx, func(t *transaction) error {
		r = v.newRecount()
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		return r.run(ctx, t, o, v.recountLimit())
	})
	if err == nil && !r.tooLarge && v.options.Repair && len(r.faults) > 0 {
		err = v.mendAtOnce(ctx)
		r.part.Repaired = len(r.faults)
	}
	if err == nil && !r.tooLarge {
		err = v.removeLeftovers(ctx)
	}
	if err != nil || r.tooLarge {
		return false, unlessTooMuch(err)
	}
	v.addPart(r.part)
	return true, nil
}

// mendAtOnce compares counts and sums again, at the version at which the transaction
// reads, and corrects those that are wrong then. It conflicts with other repairs only.
func (v *verifier) mendAtOnce(ctx context.Context) error {
	return v.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		r := v.newRecount()
		if err := cmp.Or(o.excludeRepairs(t, v.place), r.run(ctx, t.snapshot(), o, math.MaxInt64)); err != nil {
			return err
		}
		r.mend(t.writer, o)
		build.Reach(ctx, build.Mended)
		return nil
	})
}

func (v *verifier) newRecount() *recount {
	return &recount{source: v.source, totals: map[string]index.Total{}}
}

func (v *verifier) recountLimit() int64 { return cmp.Or(v.options.RecountBytes, defaultRecountBytes) }

// unlessTooMuch returns err, but nil if a transaction has taken too long, or was too large.
func unlessTooMuch(err error) error {
	var slow *kv.RetryError
	if kv.CodeOf(err) == kv.CodeTransactionTooLarge || errors.As(err, &slow) && slow.Code == kv.CodeTransactionTooOld {
		return nil
	}
	return err
}
