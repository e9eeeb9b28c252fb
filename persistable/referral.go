// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// referral is a store with a reference of its type.
type referral struct {
	source
	ref *erased.Reference
}

// read returns the records to which the reference leads from those in list, each once; nil for one
// that does not exist.
func (r *referral) read(ctx context.Context, list []any) ([]any, error) {
	ids, err := r.collectIDs(list)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	to, err := r.along()
	if err != nil {
		return nil, err
	}
	found := make([]any, len(ids))
	err = to.getMany(ctx, len(ids), func(i int) []byte { return ids[i] }, func(i int, v any) { found[i] = v })
	return found, err
}

// collectIDs returns the packed ids to which records refer, each once. A record of another
// directory is refused: what it refers to is not in the directory to which this one leads.
func (r *referral) collectIDs(list []any) (ids [][]byte, err error) {
	seen := map[string]bool{}
	var all [][]byte
	for _, v := range list {
		if err := r.place.checkRecord(v); err != nil {
			return nil, err
		}
		if all, err = r.ref.AppendIDs(all[:0], v); err != nil {
			return nil, err
		}
		for _, id := range all {
			if !seen[string(id)] {
				seen[string(id)] = true
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// along returns the source of the records to which the reference leads, in the transaction of the
// store.
func (r *referral) along() (to source, err error) {
	p, err := placeOf(r.db, r.ref.To(), r.ref.ToArgs(r.place.args))
	if err != nil {
		return to, fmt.Errorf("persistable: %s.%s: %w", r.record.Type, r.ref.Field, err)
	}
	return source{record: p.record, place: p, db: r.db, tx: r.tx}, nil
}
