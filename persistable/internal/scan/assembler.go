// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Group is one record as it lies in the database: its first value and its
// chunks, which are neighbours.
type Group struct {
	ID, Key, Value []byte
	Chunks         []kv.KeyValue // in the order of the scan
	Astray         bool          // in another shard than that of its id
}

// IndexRecord returns what index entries need of the record.
func (g *Group) IndexRecord() index.Record {
	r := index.Record{ID: g.ID}
	if len(g.Chunks) == 0 {
		r.Value = g.Value
	}
	return r
}

// Size returns the number of bytes of the record's values.
func (g *Group) Size() int {
	n := len(g.Value)
	for _, chunk := range g.Chunks {
		n += len(chunk.Value)
	}
	return n
}

// Join returns the payload with those of the chunks after it.
func (g *Group) Join(payload []byte, reverse bool) []byte {
	if reverse {
		slices.Reverse(g.Chunks)
	}
	whole := slices.Clone(payload)
	for _, chunk := range g.Chunks {
		whole = append(whole, chunk.Value...)
	}
	return whole
}

// Assembler puts the keys of one record together. Forward, the first value
// comes first and tells how many chunks follow; in reverse it comes last.
type Assembler struct {
	Range
	open bool // now holds something
	now  Group
}

// KeyError is a key that is not a record's.
type KeyError struct {
	Key []byte
	Err error
}

// Error implements error.
func (e *KeyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

// AddBatch adds the keys of a batch and appends the records that are complete
// with them to ready. A key that is not a record's is a *[KeyError].
func (a *Assembler) AddBatch(pairs []kv.KeyValue, ready []Group) ([]Group, error) {
	for _, pair := range pairs {
		g, complete, err := a.add(pair)
		if err != nil {
			return ready, &KeyError{pair.Key, err}
		}
		if complete {
			ready = append(ready, g)
		}
	}
	return ready, nil
}

// IsOpen reports whether a record goes on in the next batch.
func (a *Assembler) IsOpen() bool { return a.open }

// add takes the next key and returns a record if it is complete with it.
func (a *Assembler) add(pair kv.KeyValue) (g Group, complete bool, err error) {
	shard, id, rest, err := a.split(pair.Key)
	if err != nil {
		return Group{}, false, err
	}
	if a.open && !bytes.Equal(id, a.now.ID) {
		// The record before is not complete: chunks are missing, or its first
		// value. Report it as it is.
		g, a.now, a.open = a.now, Group{}, false
		complete = true
	}
	if !a.open {
		a.now, a.open = Group{ID: id, Key: pair.Key[:len(pair.Key)-len(rest)], Astray: shard != a.Shards.Of(id)}, true
	}
	if len(rest) > 0 {
		a.now.Chunks = append(a.now.Chunks, pair)
	} else {
		a.now.Value = pair.Value
	}
	if complete || !a.isComplete() {
		return g, complete, nil
	}
	g, a.now, a.open = a.now, Group{}, false
	return g, true, nil
}

func (a *Assembler) split(key []byte) (shard int, id, rest []byte, err error) {
	shard, suffix, err := a.Shards.Cut(key[len(a.Prefix):])
	if err != nil {
		return 0, nil, nil, err
	}
	if rest, err = tuple.Skip(suffix); err != nil {
		return 0, nil, nil, err
	}
	return shard, suffix[:len(suffix)-len(rest)], rest, nil
}

func (a *Assembler) isComplete() bool {
	if a.now.Value == nil || a.Options.Reverse {
		return a.now.Value != nil
	}
	s, err := format.ParseRecord(a.now.Value)
	return err != nil || len(a.now.Chunks) >= s.Chunks
}

// Rest returns the record that is left at the end of the range.
func (a *Assembler) Rest() (g Group, ok bool) { return a.now, a.open }
