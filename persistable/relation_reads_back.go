// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// maxCascade bounds how many records are deleted because of one to which they refer, directly
// or through others.
const maxCascade = 1000

// cascade is the deletion of a record with all that refer to it by fields with the option
// cascade. A nil cascade is none.
type cascade struct {
	doomed map[string]bool // the keys of the records
	before map[string]bool // those that a batch deletes before the first of them: their hooks were called
}

// cascadeKey is the key under which a context carries the cascade that a deletion is a part of.
type cascadeKey struct{}

func (c *cascade) size() int {
	if c == nil {
		return 0
	}
	return len(c.doomed)
}

func (c *cascade) includes(key []byte) bool {
	return c != nil && (c.doomed[string(key)] || c.before[string(key)])
}

// referrerRead is the read of the entries of the records that refer to one by a field.
type referrerRead struct {
	ref     *erased.Reference
	place   *place
	store   *openStore // in which they were looked for; nil: they were not yet
	entries kv.RangeResult
}

// newReferrerRead returns the read, not started, of the records that refer by a field to the one
// which a write removes.
func newReferrerRead(w *write, ref *erased.Reference) (referrerRead, error) {
	p, err := placeOf(w.t.db, ref.From(), ref.FromArgs(w.place.args))
	return referrerRead{ref: ref, place: p}, err
}

// start starts the read of some entries in a store.
func (r *referrerRead) start(t *transaction, o *openStore, id []byte, limit int) {
	r.store = o
	keys := index.Bounds{}.Equal(id).Range(o.indexes[r.ref.Index].Prefix)
	r.entries = t.writer.GetRange(keys.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
}

// await returns the keys and the packed ids of the records that were found, up to a limit.
func (r *referrerRead) await(ctx context.Context, t *transaction, id []byte, limit int) (keys, ids [][]byte, err error) {
	o, err := t.openStore(ctx, r.place)
	if err != nil || o == nil {
		return nil, nil, err
	}
	if err := r.place.record.checkReadable(o, r.ref.Index); err != nil {
		return nil, nil, err
	}
	if o != r.store {
		r.start(t, o, id, limit)
	}
	pairs, err := r.entries.Slice(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, pair := range pairs {
		e, err := splitEntry(&o.indexes[r.ref.Index], pair)
		if err != nil {
			return nil, nil, r.place.record.indexError(err)
		}
		keys, ids = append(keys, o.records.Append(nil, e.id)), append(ids, e.id)
	}
	return keys, ids, nil
}

// startReferrers starts the reads of the records that refer to the one which the write removes.
func (rs *relationReads) startReferrers(w *write) error {
	for _, ref := range w.Relations.Referrers {
		r, err := newReferrerRead(w, ref)
		if err != nil {
			return err
		}
		if known := w.t.lastKnown(r.place); known != nil {
			r.start(w.t, known, w.sc.id, rs.most())
		}
		rs.referrers = append(rs.referrers, r)
	}
	return nil
}

// most is how many entries show whether a record refers to the one which the write removes, and is
// not deleted with it: one more than those that are, the record itself included.
func (rs *relationReads) most() int {
	most := 2 + rs.cascade.size()
	if rs.cascade != nil {
		most += len(rs.cascade.before)
	}
	return most
}

// checkReferrers returns an [ErrReferred] if a record refers to the one that the write removes,
// and is not deleted with it. Otherwise the transaction conflicts with writes that have
// one refer to it.
func (rs *relationReads) checkReferrers(ctx context.Context, w *write) error {
	for i := range rs.referrers {
		r := &rs.referrers[i]
		keys, ids, err := r.await(ctx, w.t, w.sc.id, rs.most())
		if err != nil {
			return err
		}
		for n, key := range keys {
			if string(key) != string(w.sc.key) && !rs.cascade.includes(key) {
				return sentinel.Mark(ErrReferred, fmt.Errorf("persistable: %s %s cannot be deleted: the %s %s refers to it by %s%s: delete that first, or have it refer to another one",
					w.Type, w.idText(), r.place.typ, idText(ids[n]), r.ref.Field, r.place.inDirectory()))
			}
		}
	}
	return nil
}

// cascadeOf returns the reads of a write of a type with references, as a part of the cascade that
// the context carries.
func cascadeOf(ctx context.Context) *relationReads {
	c, _ := ctx.Value(cascadeKey{}).(*cascade)
	return &relationReads{cascade: c}
}

// deletesReferrers reports whether records are deleted with those of the type.
func deletesReferrers(r *record) bool {
	return r.Relations != nil && slices.ContainsFunc(r.Relations.Referrers, func(ref *erased.Reference) bool { return ref.OnDelete == erased.Cascade })
}

// deleteReferrers deletes the records that refer by fields with the option cascade to the record
// with that key, which the write removes.
func (rs *relationReads) deleteReferrers(ctx context.Context, w *write, key []byte) error {
	if rs.cascade == nil {
		rs.cascade = &cascade{doomed: map[string]bool{}, before: w.deletedBefore}
		defer func() { rs.cascade.before = nil }() // the write itself comes after theirs
		ctx = context.WithValue(ctx, cascadeKey{}, rs.cascade)
	}
	rs.cascade.doomed[string(key)] = true
	for _, ref := range w.Relations.Referrers {
		if ref.OnDelete != erased.Cascade {
			continue
		}
		if err := rs.deleteReferring(ctx, w, ref); err != nil {
			return err
		}
	}
	return nil
}

// deleteReferring deletes the records that refer to this one by one field.
func (rs *relationReads) deleteReferring(ctx context.Context, w *write, ref *erased.Reference) error {
	r, err := newReferrerRead(w, ref)
	if err != nil {
		return err
	}
	keys, ids, err := r.await(ctx, w.t, w.sc.id, maxCascade+2+len(rs.cascade.before))
	if err != nil {
		return err
	}
	var more [][]byte
	for i, key := range keys {
		if !rs.cascade.includes(key) {
			more = append(more, ids[i])
			rs.cascade.doomed[string(key)] = true
		}
	}
	if rs.cascade.size() > maxCascade+1 { // the first record, and those because of it
		return sentinel.Mark(ErrReferred, fmt.Errorf("persistable: %s %s cannot be deleted: with it more than %d records would be deleted that refer to it or to each other, "+
			"too many for one transaction: first delete those of the type %s, by DeleteWhere of a query on the index %s",
			w.Type, w.idText(), maxCascade, r.place.typ, r.place.record.Indexes[ref.Index].Name))
	}
	if len(more) == 0 {
		return nil
	}
	from := source{record: r.place.record, place: r.place, db: w.t.db, tx: w.t}
	return from.deleteMany(ctx, more, BatchOptions{})
}
