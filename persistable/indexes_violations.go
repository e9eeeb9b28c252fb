// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"maps"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/tuple"
)

// ViolationPage is a part of a unique index's violations.
type ViolationPage struct {
	Violations []Violation // in the order of the ids of their records
	Next       string      // the token of the next page; empty on the last one
}

// NotUniqueError says that a unique index could not be completed because records
// share values. The records stay as they are and the index stays in the state
// building. [Indexes.Violations] lists all of them. Change or delete all but one of the
// records of each violation and run Indexes().Build again.
type NotUniqueError struct {
	Type       string
	Violations []Violation // the first hundred
	More       bool        // there are more
}

// Violation is a record whose values another record owns.
type Violation struct {
	Index  string // its name in keys, which Indexes().Violations and Rebuild take
	Fields []string
	Values tuple.Tuple
	ID     any // the record that cannot be in the index
	Owner  any // the record that is in the index
}

// Error implements error.
func (e *NotUniqueError) Error() string {
	v := e.Violations[0]
	return fmt.Sprintf("persistable: %s: the index %s cannot be completed: %s belongs to %v and %v (%d such pairs known): change or delete all but one record of each, and run Indexes().Build again",
		e.Type, v.Index, valuesText(v.Fields, v.Values), v.Owner, v.ID, len(e.Violations))
}

// makeReadable settles the violations and makes the indexes without any readable.
func (x Indexes) makeReadable(ctx context.Context) error {
	var left *NotUniqueError
	broken := map[int]bool{}
	for i := range x.record.Indexes {
		if !x.record.Indexes[i].Unique {
			continue
		}
		found, more, err := x.settleViolations(ctx, i)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			if left == nil {
				left = &NotUniqueError{Type: x.record.Type}
			}
			broken[i] = true
			left.Violations, left.More = append(left.Violations, found...), left.More || more
		}
	}
	worklist.Reach(ctx, build.Settled)
	err := x.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, x.place)
		if err != nil || o == nil {
			return err
		}
		if i, found := o.firstIn(index.Disabled); found {
			return x.record.checkReadable(o, i)
		}
		kept, err := x.keepListed(ctx, t, o, broken)
		if err != nil {
			return err
		}
		if err := o.anyViolation(ctx, t, x.record.Type, kept); err != nil {
			return err
		}
		return x.changeState(ctx, t, index.Readable, func(i int, is index.State) bool { return is == index.Building && !kept[i] })
	})
	if err == nil && left != nil {
		return left
	}
	return err
}

// keepListed returns the indexes that stay in the state building: those that are broken,
// and those of a build that another process has begun since.
func (x Indexes) keepListed(ctx context.Context, t *transaction, o *openStore, broken map[int]bool) (map[int]bool, error) {
	listed, err := o.buildList(x.place).Has(ctx, t.writer)
	kept := maps.Clone(broken)
	for i, d := range x.place.definitions {
		kept[i] = kept[i] || listed(d)
	}
	return kept, err
}

const (
	maxViolations  = 100 // reported
	violationBatch = 50  // settled in a transaction
)

// settleViolations checks all violations of an index again and returns those that
// are left.
func (x Indexes) settleViolations(ctx context.Context, i int) (left []Violation, more bool, err error) {
	var after []byte
	for {
		batch, next, err := x.settlePage(ctx, i, after)
		if err != nil {
			return nil, false, err
		}
		left = append(left, batch...)
		if len(left) > maxViolations {
			left, more = left[:maxViolations], true
		}
		if after = next; after == nil {
			return left, more, nil
		}
	}
}

func (x Indexes) settleBatch(ctx context.Context, t *transaction, o *openStore, i int, after []byte) (left []Violation, next []byte, err error) {
	ix := &o.indexes[i]
	found, next, err := ix.Violations(ctx, t.Reader, after, violationBatch)
	if err != nil {
		return nil, nil, x.record.indexError(err)
	}
	for _, v := range found {
		owner, err := x.settleOne(ctx, t, o, i, v)
		if err != nil {
			return nil, nil, x.record.indexError(err)
		}
		if owner != nil {
			left = append(left, violationOf(x.record, ix, v, owner))
		}
	}
	return left, next, nil
}

func (x Indexes) settleOne(ctx context.Context, t *transaction, o *openStore, i int, v index.Violation) (owner []byte, err error) {
	key := o.records.Append(nil, v.Record)
	value, err := t.Reader.Get(key).Get(ctx)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return o.indexes[i].Settle(ctx, t.writer, i, v, nil, index.Record{})
	}
	whole, err := x.record.readWhole(ctx, t.Reader, v.Record, key, value)
	if err != nil {
		return nil, err
	}
	decoded, err := x.record.decodeRecord(whole, v.Record, key)
	if err != nil {
		return nil, err
	}
	var set index.Set
	if err := x.record.gatherEntries(&set, o, v.Record, decoded); err != nil {
		return nil, err
	}
	r := index.Record{ID: v.Record, Value: value}
	if whole.Chunks > 0 {
		r.Value = nil
	}
	return o.indexes[i].Settle(ctx, t.writer, i, v, &set, r)
}

// settlePage settles the violations after a key, as many as go into a transaction,
// and returns those that are left and where to go on.
func (x Indexes) settlePage(ctx context.Context, i int, after []byte) (left []Violation, next []byte, err error) {
	err = x.db.transact(ctx, func(t *transaction) error {
		left, next = nil, nil
		o, err := t.openStore(ctx, x.place)
		if err != nil || o == nil || o.indexes[i].State != index.Building {
			return err
		}
		if err := o.checkWritable(x.place); err != nil {
			return err
		}
		left, next, err = x.settleBatch(ctx, t, o, i, after)
		return err
	})
	return left, next, err
}

// violationOf describes a violation of an index.
func violationOf(r *record, ix *index.Index, v index.Violation, owner []byte) Violation {
	values, _ := ix.Values(v.Key[len(ix.Prefix):])
	return Violation{Index: ix.KeyName(), Fields: ix.Fields, Values: values, ID: r.idValue(v.Record), Owner: r.idValue(owner)}
}
