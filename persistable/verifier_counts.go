// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// verifyCounts compares all counts and sums with the records. If that takes longer than
// one version can be read, or more memory than maxRecount, they are reported as skipped.
func (v *verifier) verifyCounts(ctx context.Context) error {
	if !slices.ContainsFunc(v.record.Indexes, func(d index.Definition) bool { return d.Kind.HasTotals() }) {
		return nil
	}
	var r *recount
	err := v.place.db.readOnly(ctx, func(t *transaction) error {
		r = &recount{source: v.source, totals: map[string]index.Total{}}
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		return r.run(ctx, t, o)
	})
	var slow *kv.RetryError
	if errors.As(err, &slow) && slow.Code == kv.CodeTransactionTooOld {
		r.skipAll()
		err = nil
	}
	if err != nil {
		return err
	}
	v.addPart(r.part)
	return nil
}
