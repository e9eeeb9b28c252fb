// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// The functions in this file convert between the generic types and those without
// type parameters. Each has one body for all types of records, since these are
// pointers.

// sourceOf returns where the operations of a store take place.
func sourceOf[T, ID any](s *Store[T, ID]) source {
	return newSource((*erased.Store[ID])(s).Source())
}

func indexesOf[ID any](s *erased.Store[ID]) Indexes {
	return Indexes{newSource(s.Source()), s.Schema()}
}

// boundTo returns the store bound to a transaction.
func boundTo[ID any](s *erased.Store[ID], tx Tx) erased.Store[ID] {
	next := *s
	bind(next.Source(), tx)
	return next
}

// untyped returns the record without its type, and nil for a nil pointer.
func untyped[T any](v T) any {
	var none T
	if any(v) == any(none) {
		return nil
	}
	return v
}

// typed returns the record with its type, and the nil pointer for nil.
func typed[T any](v any, err error) (T, error) {
	record, _ := v.(T)
	return record, err
}

func createWithID[ID any](ctx context.Context, s source, id ID, v any) (err error) {
	ctx, o := s.begin(ctx, "CreateWithID", byID)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "CreateWithID", nil, v, &err)
	if err := s.mayPut(v); err != nil {
		return err
	}
	*s.record.ID(v).(*ID) = id
	if err := s.record.makeReadyAs(s.record.appendID(nil, v), v, true); err != nil {
		return err
	}
	return s.put(ctx, v, putOptions{mustBeNew: true})
}

func update[T, ID any](ctx context.Context, store *erased.Store[ID], id ID, change func(v T) error) error {
	s := newSource(store.Source())
	return s.update(ctx, store.AppendID(nil, id), func(v any) error { return change(v.(T)) })
}

func deleteID[ID any](ctx context.Context, typed *erased.Store[ID], id ID) error {
	sc := getScratch()
	defer sc.release()
	sc.id = typed.AppendID(sc.id[:0], id)
	s := newSource(typed.Source())
	return s.delete(ctx, sc)
}

func get[T, ID any](ctx context.Context, store *erased.Store[ID], id ID) (T, error) {
	sc := getScratch()
	defer sc.release()
	sc.id = store.AppendID(sc.id[:0], id)
	return typed[T](newSource(store.Source()).get(ctx, sc))
}

func exists[ID any](ctx context.Context, typed *erased.Store[ID], id ID) (bool, error) {
	sc := getScratch()
	defer sc.release()
	sc.id = typed.AppendID(sc.id[:0], id)
	s := newSource(typed.Source())
	return s.exists(ctx, sc)
}

func getMany[T, ID any](ctx context.Context, store *erased.Store[ID], ids []ID) ([]T, error) {
	all := make([]T, len(ids))
	s := newSource(store.Source())
	err := s.getMany(ctx, len(ids), func(i int) []byte { return store.AppendID(nil, ids[i]) }, func(i int, v any) {
		all[i], _ = v.(T)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func find[T any](s source, conditions []Condition[T]) (*Query[T], error) {
	q, err := findQuery(&s, untypedConditions(conditions))
	return (*Query[T])(q), err
}

func untypedConditions[T any](conditions []Condition[T]) []erased.Condition {
	all := make([]erased.Condition, len(conditions))
	for i, c := range conditions {
		all[i] = erased.Condition(c)
	}
	return all
}

// allowingScan returns the store with a Find that may read all records.
func allowingScan[ID any](s *erased.Store[ID]) *erased.Store[ID] {
	next := *s
	next.Source().AllowScan = true
	return &next
}

func findOne[T any](ctx context.Context, s source, conditions []Condition[T]) (T, error) {
	q, err := find(s, conditions)
	if err != nil {
		var none T
		return none, err
	}
	return q.First(ctx)
}

// untypedAll returns the records without their type, and nil for nil pointers.
//
//go:noinline
func untypedAll[T any](vs []T) []any {
	all := make([]any, len(vs))
	for i, v := range vs {
		all[i] = untyped(v)
	}
	return all
}

// writeAll is writeMany for a list.
func writeAll(ctx context.Context, s source, vs []any, o BatchOptions, how putOptions) error {
	_, err := s.writeMany(ctx, o, how, func(yield func(any, error) bool) {
		for _, v := range vs {
			if !yield(v, nil) {
				return
			}
		}
	})
	return err
}

func writeMany[T any](ctx context.Context, s source, vs iter.Seq2[T, error], o BatchOptions, how putOptions) (int, error) {
	return s.writeMany(ctx, o, how, func(yield func(any, error) bool) {
		for v, err := range vs {
			if !yield(untyped(v), err) {
				return
			}
		}
	})
}

// deleteIDs deletes the records with these ids.
func deleteIDs[ID any](ctx context.Context, typed *erased.Store[ID], ids []ID, o BatchOptions) error {
	packed := make([][]byte, len(ids))
	for i, id := range ids {
		packed[i] = typed.AppendID(nil, id)
	}
	return newSource(typed.Source()).deleteMany(ctx, packed, o)
}

func toQuery[T any](q *Query[T]) *query { return newQuery((*erased.Query)(q)) }

func getOrCreate[T, ID any](ctx context.Context, store *erased.Store[ID], v T) (stored T, created bool, err error) {
	s, record := newSource(store.Source()), untyped(v)
	if err := s.mayPut(record); err != nil {
		return stored, false, err
	}
	id := s.record.ID(record).(*ID)
	given := *id
	found, err := s.getOrCreate(ctx, record)
	if created = err == nil && found == record; !created {
		*id = given
	}
	if err == nil {
		stored = found.(T)
	}
	return stored, created, err
}

func watchOf[T, ID any](ctx context.Context, store *erased.Store[ID], id ID) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		newSource(store.Source()).watch(ctx, store.AppendID(nil, id), func(v any, err error) bool {
			return yield(typed[T](v, err))
		})
	}
}

func init() { erased.Runtime = implementation{} }

// implementation is what package persistimpl calls.
type implementation struct{}

func (implementation) Open(db any, schema *erased.Schema, args []string) erased.Source {
	return openSource(db.(*DB), schema, args)
}

func (implementation) Args(e *erased.Source) []string {
	s := newSource(e)
	if s.place == nil {
		return nil
	}
	return s.place.args
}

func (implementation) NewID(e *erased.Source) int64 {
	if e == nil {
		return int64(newSharedID())
	}
	s := newSource(e)
	if s.place == nil {
		return 0
	}
	return int64(s.db.ids.newID())
}

func (implementation) Options(o kv.TransactionOptions) any { return Tx{options: &o} }

func (implementation) Unique(ctx context.Context, e *erased.Source, i int, values []byte) (any, error) {
	return newSource(e).byUnique(ctx, i, values)
}

func (implementation) Referred(ctx context.Context, e *erased.Source, i int, list []any) ([]any, error) {
	s := newSource(e)
	if err := s.checkUsable(); err != nil {
		return nil, err
	}
	r := referral{s, s.record.Relations.References[i]}
	return r.read(ctx, list)
}

func (implementation) Count(ctx context.Context, e *erased.Source, i int, group []byte) (int64, error) {
	return newSource(e).count(ctx, i, group)
}

func (implementation) Sum(ctx context.Context, e *erased.Source, i int, group []byte) (index.Amount, error) {
	return newSource(e).sum(ctx, i, group)
}

func (implementation) Groups(ctx context.Context, e *erased.Source, i int) ([]erased.Group, error) {
	return newSource(e).groups(ctx, i)
}

func (implementation) Overflow(e *erased.Source, i int, sum index.Amount) error {
	s := newSource(e)
	return s.overflow(i, sum)
}

func (implementation) Extreme(ctx context.Context, e *erased.Source, i int, group []byte, greatest bool) ([]byte, error) {
	return newSource(e).extreme(ctx, i, group, greatest)
}

func (implementation) Damaged(e *erased.Source, i int, key []byte, err error) error {
	s := newSource(e)
	return s.damagedGroup(i, key, err)
}

// Entries implements the run-time of package dynamic.
func (implementation) Entries(ctx context.Context, e *erased.Source, id []byte) ([]erased.Entry, error) {
	return newSource(e).entries(ctx, id)
}

// Drop implements the run-time of package dynamic.
func (implementation) Drop(ctx context.Context, e *erased.Source, keyName string) error {
	return Indexes{source: newSource(e)}.drop(ctx, keyName)
}
