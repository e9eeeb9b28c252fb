// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// NotUniqueError says that an index could not be completed because records
// share values. They stay as they are and the index stays in the state
// building. Change or delete all but one of the records of each violation and
// run BuildIndexes again.
type NotUniqueError struct {
	Type       string
	Violations []Violation // the first hundred
	More       bool        // there are more
}

// Violation is a record that has values which another record owns.
type Violation struct {
	Index  string
	Fields []string
	Values tuple.Tuple
	ID     any // the record that cannot be in the index
	Owner  any // the record that is in the index
}

// Error implements error.
func (e *NotUniqueError) Error() string {
	v := e.Violations[0]
	return fmt.Sprintf("persistable: %s: the index %s cannot be completed: %v = %v belongs to %v and %v (%d such pairs known): change or delete all but one record of each, and run BuildIndexes again",
		e.Type, v.Index, v.Fields, v.Values, v.Owner, v.ID, len(e.Violations))
}

// BuildIndexes completes the indexes that are not readable in this store's
// directory: those added to the type since the first record was written there.
// It runs beside readers and writers, in many small transactions, and may be
// interrupted: run again, by whatever process, it goes on where it stopped.
// Records that share values of a unique index are reported, all at the end, by
// a *[NotUniqueError]. Where nothing is to be built it does nothing.
func (s Store[T, ID]) BuildIndexes(ctx context.Context) error {
	if err := s.mayBuild(); err != nil {
		return err
	}
	// An older program that does not know an index can disable it meanwhile.
	for range 3 {
		err := s.build(ctx)
		var state *IndexStateError
		if !errors.As(err, &state) {
			return err
		}
	}
	return fmt.Errorf("persistable: %s: programs that do not know all indexes keep writing: update them first", s.record.typ)
}

func (s *source[T]) mayBuild() error {
	switch {
	case s.err != nil:
		return s.err
	case s.tx != nil:
		return fmt.Errorf("persistable: %s: indexes are built and verified in transactions of their own: use a store that is not bound to one", s.record.typ)
	}
	return nil
}

// RebuildIndex throws the entries of the index with that name away and builds
// it again: the remedy for what Verify finds.
func (s Store[T, ID]) RebuildIndex(ctx context.Context, name string) error {
	if err := s.mayBuild(); err != nil {
		return err
	}
	at := slices.IndexFunc(s.record.definitions, func(d *index.Definition) bool { return d.Name == name })
	if at < 0 {
		return &NoIndexError{Type: s.record.typ, Reason: fmt.Sprintf("no index has the name %q;", name), Indexes: s.record.indexFields()}
	}
	err := s.place.db.transact(ctx, func(t *transaction) error {
		return s.changeState(ctx, t, index.Disabled, func(i int, _ index.State) bool { return i == at })
	})
	if err != nil {
		return err
	}
	return s.BuildIndexes(ctx)
}

// RemoveUnusedIndexes clears the entries of indexes that the type no longer
// has. Do it when no older program writes any more.
func (s Store[T, ID]) RemoveUnusedIndexes(ctx context.Context) error {
	if err := s.mayBuild(); err != nil {
		return err
	}
	return s.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.openForDeleting(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		next := o.catalog.clone()
		next.indexes = nil
		for _, ix := range o.catalog.indexes {
			if slices.ContainsFunc(s.record.definitions, func(d *index.Definition) bool { return d.KeyName() == ix.name }) {
				next.indexes = append(next.indexes, ix)
				continue
			}
			entries := tuple.AppendString(tuple.AppendString(slices.Clone(o.prefix), "I"), ix.name)
			t.writer.ClearRange(index.Bounds{}.Range(entries))
		}
		if next.equal(o.catalog) {
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		_, err = t.setCatalog(s.place, o.prefix, next)
		return err
	})
}

// changeState sets the state of the indexes that which picks.
func (s *source[T]) changeState(ctx context.Context, t *transaction, to index.State, which func(int, index.State) bool) error {
	o, err := t.openForDeleting(ctx, s.place)
	if err != nil || o == nil {
		return err
	}
	next := o.catalog.clone()
	for i := range o.indexes {
		if ix := &o.indexes[i]; which(i, ix.State) {
			if to == index.Building {
				ix.Clear(t.writer)
			}
			next.setState(ix.Definition, to)
		}
	}
	if next.equal(o.catalog) {
		return nil
	}
	t.writer.Clear(o.progress(s.place))
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err = t.setCatalog(s.place, o.prefix, next)
	return err
}

// progress is the key of how far a build has come: ("S", type, "build").
func (o *openStore) progress(p *place) []byte { return o.system(p, "build") }

func (o *openStore) anyIn(state index.State) (first int, found bool) {
	i := slices.IndexFunc(o.indexes, func(ix index.Index) bool { return ix.State == state })
	return i, i >= 0
}

// build brings disabled indexes to the state building, fills those in that
// state, and makes them readable.
func (s *source[T]) build(ctx context.Context) error {
	err := s.place.db.transact(ctx, func(t *transaction) error {
		return s.changeState(ctx, t, index.Building, func(_ int, is index.State) bool { return is == index.Disabled })
	})
	if err != nil {
		return err
	}
	b := builder[T]{source: s, size: s.place.db.options.BuildBatch}
	for done := false; !done; {
		if done, err = b.batch(ctx); err != nil {
			return err
		}
	}
	return s.finish(ctx)
}

// builder fills indexes batch by batch.
type builder[T any] struct {
	*source[T]
	size int // records of the next batch
}

// maxBatchBytes bounds what a batch reads and writes, far below the limit of a
// transaction.
const maxBatchBytes = 1_000_000

// batch fills the indexes from the next records and reports whether there were
// none left. Batches shrink where transactions fail, and grow again.
func (b *builder[T]) batch(ctx context.Context) (done bool, err error) {
	attempts := 0
	err = b.place.db.transact(ctx, func(t *transaction) error {
		if attempts++; attempts > 1 {
			b.size = max(b.size/2, 1)
		}
		done, err = b.fill(ctx, t)
		return err
	})
	if attempts == 1 {
		b.size = min(b.size*2, b.place.db.options.BuildBatch)
	}
	return done, err
}

func (b *builder[T]) fill(ctx context.Context, t *transaction) (done bool, err error) {
	o, err := t.open(ctx, b.place)
	if err != nil || o == nil {
		return true, err
	}
	if i, found := o.anyIn(index.Disabled); found {
		return false, b.state(o, i)
	}
	if _, found := o.anyIn(index.Building); !found {
		return true, nil
	}
	c := cursor{limit: b.size}
	if c.position, err = t.reader.Get(o.progress(b.place)).Get(ctx); err != nil {
		return false, err
	}
	fill := index.NewFill(t.writer, o.indexes)
	n, err := b.fillFrom(ctx, t, o, &c, fill)
	if err != nil {
		return false, err
	}
	if err := fill.Finish(ctx); err != nil {
		return false, b.record.indexError(err)
	}
	if c.position != nil {
		t.writer.Set(o.progress(b.place), c.position)
	}
	return n == 0, nil
}

// fillFrom adds the records behind the cursor to a batch, as many as fit.
func (b *builder[T]) fillFrom(ctx context.Context, t *transaction, o *openStore, c *cursor, fill *index.Fill) (n int, err error) {
	q := Query[T]{source: *b.source, plan: plan{index: byID}}
	var set index.Set
	read := 0
	for g, err := range q.groups(ctx, t, o, q.plan, c) {
		if err != nil {
			return n, err
		}
		v, err := q.decodeGroup(g)
		if err != nil {
			return n, err
		}
		if err := b.record.gather(&set, o, g.id, v); err != nil {
			return n, err
		}
		fill.Add(&set, g.indexRecord())
		n++
		if read += g.size(); read+fill.Written() > maxBatchBytes {
			break
		}
	}
	return n, nil
}

// indexRecord is what index entries need of the record.
func (g *group) indexRecord() index.Record {
	r := index.Record{ID: g.id}
	if len(g.chunks) == 0 {
		r.Value = g.value
	}
	return r
}

func (g *group) size() int {
	n := len(g.value)
	for _, chunk := range g.chunks {
		n += len(chunk.Value)
	}
	return n
}

// finish settles the violations and makes the indexes readable that have none.
func (s *source[T]) finish(ctx context.Context) error {
	var left *NotUniqueError
	broken := map[int]bool{}
	for i := range s.record.indexes {
		if !s.record.indexes[i].Unique {
			continue
		}
		found, more, err := s.settle(ctx, i)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			if left == nil {
				left = &NotUniqueError{Type: s.record.typ}
			}
			broken[i] = true
			left.Violations, left.More = append(left.Violations, found...), left.More || more
		}
	}
	err := s.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.open(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		if i, found := o.anyIn(index.Disabled); found {
			return s.state(o, i)
		}
		if err := o.anyViolation(ctx, t, s.record.typ, broken); err != nil {
			return err
		}
		return s.changeState(ctx, t, index.Readable, func(i int, is index.State) bool { return is == index.Building && !broken[i] })
	})
	if err == nil && left != nil {
		return left
	}
	return err
}

// anyViolation marks indexes as broken that got a violation since they were
// settled.
func (o *openStore) anyViolation(ctx context.Context, t *transaction, typ string, broken map[int]bool) error {
	for i := range o.indexes {
		if ix := &o.indexes[i]; ix.Unique && ix.State == index.Building && !broken[i] {
			found, _, err := ix.Violations(ctx, t.reader, nil, 1)
			if err != nil {
				return err
			}
			if len(found) > 0 {
				return &IndexStateError{Type: typ, Index: ix.Name, State: ix.State}
			}
		}
	}
	return nil
}

const (
	maxViolations  = 100 // reported
	violationBatch = 50  // settled in a transaction
)

// settle looks at all violations of an index again and returns those that are
// left.
func (s *source[T]) settle(ctx context.Context, i int) (left []Violation, more bool, err error) {
	var after, next []byte
	for {
		var batch []Violation
		err := s.place.db.transact(ctx, func(t *transaction) error {
			batch, next = nil, nil
			o, err := t.open(ctx, s.place)
			if err != nil || o == nil || o.indexes[i].State != index.Building {
				return err
			}
			batch, next, err = s.settleBatch(ctx, t, o, i, after)
			return err
		})
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

func (s *source[T]) settleBatch(ctx context.Context, t *transaction, o *openStore, i int, after []byte) (left []Violation, next []byte, err error) {
	ix := &o.indexes[i]
	found, next, err := ix.Violations(ctx, t.reader, after, violationBatch)
	if err != nil {
		return nil, nil, s.record.indexError(err)
	}
	for _, v := range found {
		owner, err := s.settleOne(ctx, t, o, i, v)
		if err != nil {
			return nil, nil, s.record.indexError(err)
		}
		if owner != nil {
			left = append(left, s.record.violation(ix, v, owner))
		}
	}
	return left, next, nil
}

func (s *source[T]) settleOne(ctx context.Context, t *transaction, o *openStore, i int, v index.Violation) (owner []byte, err error) {
	key := slices.Concat(o.records, v.Record)
	value, err := t.reader.Get(key).Get(ctx)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return o.indexes[i].Settle(ctx, t.writer, i, v, nil, index.Record{})
	}
	whole, err := s.record.whole(ctx, t.reader, v.Record, key, value)
	if err != nil {
		return nil, err
	}
	decoded, err := s.record.decodeRecord(whole, v.Record, key)
	if err != nil {
		return nil, err
	}
	var set index.Set
	if err := s.record.gather(&set, o, v.Record, decoded); err != nil {
		return nil, err
	}
	r := index.Record{ID: v.Record, Value: value}
	if whole.chunks > 0 {
		r.Value = nil
	}
	return o.indexes[i].Settle(ctx, t.writer, i, v, &set, r)
}

func (r *record[T]) violation(ix *index.Index, v index.Violation, owner []byte) Violation {
	values, _ := tuple.Unpack(v.Key[len(ix.Prefix):])
	return Violation{Index: ix.Name, Fields: ix.Fields, Values: values, ID: r.idValue(v.Record), Owner: r.idValue(owner)}
}

// idValue is the id in its own type, or its text if it cannot be read.
func (r *record[T]) idValue(packed []byte) any {
	if id, err := r.readID(packed); err == nil {
		return id
	}
	return idText(packed)
}

func (r *record[T]) indexFields() (all [][]string) {
	for i := range r.indexes {
		all = append(all, r.indexes[i].Fields)
	}
	return all
}
