// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// ConflictError is the error of a transaction that gave up because of conflicts, if
// [Options].ExplainConflicts is set or there is a tracer: it says what other
// transactions have changed. It wraps the engine's error.
type ConflictError struct {
	Conflicts []Conflict // of the last attempt; at least one
	Err       error
}

// Error implements error.
func (e *ConflictError) Error() string {
	var all []string
	for _, c := range e.Conflicts {
		all = append(all, c.String())
	}
	return "persistable: another transaction changed " + strings.Join(all, "; ") + ": " + e.Err.Error()
}

// Unwrap returns the engine's error.
func (e *ConflictError) Unwrap() error { return e.Err }

// lastError returns the engine's error of the last attempt, or nil.
func lastError(err error) (last *kv.Error) {
	var gaveUp *kv.RetryError
	if errors.As(err, &gaveUp) {
		err = gaveUp.Last
	}
	errors.As(err, &last)
	return last
}

// conflictsBefore returns what others changed in the attempt before this one, which
// failed with a conflict.
func (t *transaction) conflictsBefore(ctx context.Context) (all []Conflict) {
	ranges, err := t.writer.ConflictingKeys(ctx)
	if err != nil {
		return nil // failing to explain must not fail the transaction
	}
	for _, r := range ranges {
		all = append(all, t.describeConflict(r))
	}
	return all
}

// describeConflict finds out what a range of keys is. It knows the stores that the
// attempt has opened, and those that the DB has cached.
func (t *transaction) describeConflict(r kv.KeyRange) Conflict {
	for _, opened := range append([]openPlace{t.opened.first}, t.opened.more...) {
		if c, ok := opened.describeConflict(r); ok {
			return c
		}
	}
	for _, p := range t.db.places.all() {
		if c, ok := (openPlace{p, p.known.Load()}).describeConflict(r); ok {
			return c
		}
	}
	return Conflict{Range: r}
}

// describeConflict says what a range of keys is, if it is in the store.
func (o openPlace) describeConflict(r kv.KeyRange) (c Conflict, ok bool) {
	if o.store == nil {
		return c, false
	}
	c = Conflict{Type: o.place.typ, Path: o.place.path, Range: r}
	if bytes.HasPrefix(r.Begin, o.store.header) {
		c.Header = true
		return c, true
	}
	if id, ok := cutKeyspace(&o.store.records, r); ok {
		if element, _ := sharedElements(id, r, 1); len(element) > 0 {
			c.ID = o.place.record.idValue(element)
		}
		return c, true
	}
	for i := range o.store.indexes {
		ix := &o.store.indexes[i]
		keyspace := scan.EntriesOf(ix)
		if values, ok := cutKeyspace(&keyspace, r); ok {
			c.Index, c.Fields = ix.Name, ix.Fields
			packed, n := sharedElements(values, r, len(ix.Fields))
			d := *ix.Definition
			d.Fields = ix.Fields[:n]
			c.Values, _ = d.Values(packed)
			return c, true
		}
	}
	return c, false
}

// cutKeyspace returns what follows prefix and shard in the first key of a range, if that
// is in the keyspace.
func cutKeyspace(k *scan.Keyspace, r kv.KeyRange) (suffix []byte, ok bool) {
	if !bytes.HasPrefix(r.Begin, k.Prefix) {
		return nil, false
	}
	_, suffix, err := k.Shards.Cut(r.Begin[len(k.Prefix):])
	return suffix, err == nil
}

// sharedElements returns the tuple elements, at most so many, with which the suffix of
// the first key of a range begins and which all keys of the range have.
func sharedElements(suffix []byte, r kv.KeyRange, most int) (packed []byte, n int) {
	head := r.Begin[:len(r.Begin)-len(suffix)]
	rest := suffix
	for n < most && len(rest) > 0 {
		next, err := tuple.Skip(rest)
		if err != nil {
			break
		}
		all := slices.Concat(head, suffix[:len(suffix)-len(next)])
		if bytes.Compare(kv.PrefixRange(all).End, r.End) < 0 {
			break
		}
		rest, n = next, n+1
	}
	return suffix[:len(suffix)-len(rest)], n
}
