// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// group is one record as it lies in the database: its first value and its
// chunks, which are neighbours.
type group struct {
	id, key, value []byte
	chunks         []kv.KeyValue // in the order of the scan
	astray         bool          // in another shard than that of its id
}

// scanRecords yields the records in the order of their ids.
func (q *query) scanRecords(ctx context.Context, t *transaction, o *openStore, p plan, c *cursor, yield func(any, error) bool) {
	for g, err := range q.groups(ctx, t, o, p, c) {
		if err != nil {
			yield(nil, err)
			return
		}
		v, err := q.decodeGroup(g)
		if !yield(v, err) || err != nil || c.done {
			return
		}
	}
}

func (q *query) decodeGroup(g group) (any, error) {
	if g.astray {
		return nil, corrupt(q.record.Type, g.id, g.key, "it lies in another shard than that of its id, where Get does not find it")
	}
	if g.value == nil {
		return nil, corrupt(q.record.Type, g.id, g.key, "there are further chunks that no header counts")
	}
	s, err := parseHeader(g.value)
	if err != nil {
		return nil, recordError(q.record.Type, idText(g.id), g.key, err)
	}
	if s.chunks != len(g.chunks) {
		return nil, corrupt(q.record.Type, g.id, g.key, "it has %d further chunks, its header says %d", len(g.chunks), s.chunks)
	}
	if s.chunks > 0 {
		if q.reverse {
			slices.Reverse(g.chunks)
		}
		whole := slices.Clone(s.payload)
		for _, chunk := range g.chunks {
			whole = append(whole, chunk.Value...)
		}
		s.payload = whole
	}
	return q.record.decodeRecord(s, g.id, g.key)
}

// groups yields the records behind the cursor undecoded. A limit is not passed
// on to the engine as it is, because chunks count as keys there.
func (q *query) groups(ctx context.Context, t *transaction, o *openStore, p plan, c *cursor) iter.Seq2[group, error] {
	return func(yield func(group, error) bool) {
		r := q.rangeRead(p, o.records, c)
		r.options.Limit, r.options.Mode, r.whole = 0, kv.ModeIterator, true
		var ready []group
		if r.lacking != nil {
			r.lacking = func() int { return c.limit - len(ready) }
		}
		a := assembler{rangeRead: r}
		for pairs, err := range r.batches(ctx, t) {
			if err == nil {
				ready, err = a.addBatch(pairs, ready)
			}
			if err != nil {
				if a.emitAll(ready, c, yield) {
					yield(group{}, q.scanError(err))
				}
				return
			}
			if a.open {
				continue // a record goes on in the next batch, which the caller's writes must not come before
			}
			if !a.emitAll(ready, c, yield) {
				return
			}
			ready = ready[:0]
		}
		if g, left := a.rest(); left {
			ready = append(ready, g)
		}
		a.emitAll(ready, c, yield)
	}
}

// scanError tells of which type the key is that cannot be read.
func (q *query) scanError(err error) error {
	var e *keyError
	if errors.As(err, &e) {
		return recordError(q.record.Type, "", e.key, e.err)
	}
	return err
}

// keyError is a key that is not a record's.
type keyError struct {
	key []byte
	err error
}

func (e *keyError) Error() string { return e.err.Error() }

// addBatch takes the keys of a batch and appends the records that are complete
// with them.
func (a *assembler) addBatch(pairs []kv.KeyValue, ready []group) ([]group, error) {
	for _, pair := range pairs {
		g, complete, err := a.add(pair)
		if err != nil {
			return ready, &keyError{pair.Key, err}
		}
		if complete {
			ready = append(ready, g)
		}
	}
	return ready, nil
}

// emitAll emits groups until the caller stops.
func (a *assembler) emitAll(groups []group, c *cursor, yield func(group, error) bool) bool {
	for _, g := range groups {
		if !a.emit(g, c, yield) {
			return false
		}
	}
	return true
}

// emit yields a group and moves the cursor behind all its keys.
func (a *assembler) emit(g group, c *cursor, yield func(group, error) bool) bool {
	position := a.position(g.key)
	if !a.options.Reverse {
		position = append(slices.Clone(position), 0xff) // behind the chunks
	}
	c.pass(position)
	return yield(g, nil) && !c.done
}

// assembler puts the keys of one record together. Forward, the first value
// comes first and tells how many chunks follow; in reverse it comes last.
type assembler struct {
	rangeRead
	open bool // now holds something
	now  group
}

// add takes the next key and returns a record if it is complete with it.
func (a *assembler) add(pair kv.KeyValue) (g group, complete bool, err error) {
	shard, id, rest, err := a.split(pair.Key)
	if err != nil {
		return group{}, false, err
	}
	if a.open && !bytes.Equal(id, a.now.id) {
		// The record before is not complete: chunks are missing, or its first
		// value. Report it as it is.
		g, a.now, a.open = a.now, group{}, false
		complete = true
	}
	if !a.open {
		a.now, a.open = group{id: id, key: pair.Key[:len(pair.Key)-len(rest)], astray: shard != a.shards.Of(id)}, true
	}
	if len(rest) > 0 {
		a.now.chunks = append(a.now.chunks, pair)
	} else {
		a.now.value = pair.Value
	}
	if complete || !a.isComplete() {
		return g, complete, nil
	}
	g, a.now, a.open = a.now, group{}, false
	return g, true, nil
}

func (a *assembler) split(key []byte) (shard int, id, rest []byte, err error) {
	shard, suffix, err := a.shards.Cut(key[len(a.prefix):])
	if err != nil {
		return 0, nil, nil, err
	}
	if rest, err = tuple.Skip(suffix); err != nil {
		return 0, nil, nil, err
	}
	return shard, suffix[:len(suffix)-len(rest)], rest, nil
}

func (a *assembler) isComplete() bool {
	if a.now.value == nil || a.options.Reverse {
		return a.now.value != nil
	}
	s, err := parseHeader(a.now.value)
	return err != nil || len(a.now.chunks) >= s.chunks
}

// rest returns what is left at the end.
func (a *assembler) rest() (group, bool) { return a.now, a.open }
