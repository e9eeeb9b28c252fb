// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// runKeys is from how many neighbouring keys on that are cleared one by one the
// base is given a range tombstone instead of one for each: an iterator goes
// through those one at a time (BenchmarkFirstReadBehindClears). Tests make it
// fewer.
const runKeys = 16

// clearRun is a run of cleared keys. Neither does the base hold others between
// them, nor does the batch set any there. Names are those of the base.
type clearRun struct {
	few        [][]byte // keys that the base has; as long as they are few they may have others between them
	begin, end []byte   // of a run; nil end: there is none
}

// long reports whether there is a run: the iterator is at the first key behind
// it.
func (r *clearRun) long() bool { return r.end != nil }

// InRun reports whether a run of cleared keys goes on.
func (b *Batch) InRun() bool { return b.run.long() }

// Remove deletes a key if the base has it.
func (b *Batch) Remove(key []byte) error {
	b.key = baseKey(b.key[:0], key)
	if b.run.long() {
		switch c := b.compareNext(b.key); {
		case b.keys.Error() != nil:
			return b.keys.Error()
		case c == 0:
			b.run.end = keys.Successor(b.key)
			b.keys.Next()
			return nil
		case c > 0:
			return nil
		}
		if err := b.flushRun(); err != nil {
			return err
		}
	}
	if has, err := b.has(b.key); err != nil || !has {
		return err
	}
	b.run.few = append(b.run.few, bytes.Clone(b.key))
	if len(b.run.few) < b.base.runKeys {
		return nil
	}
	return b.lengthen()
}

// compareNext compares the key that the iterator is at with name; there being
// none counts as above all names.
func (b *Batch) compareNext(name []byte) int {
	if !b.keys.Valid() {
		return 1
	}
	return bytes.Compare(b.keys.Key(), name)
}

// has reports whether the base has a key.
func (b *Batch) has(name []byte) (bool, error) {
	_, closer, err := b.base.db.Get(name)
	if err == pebble.ErrNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, closer.Close()
}

// lengthen makes a run of the few keys if the base has no others between them.
func (b *Batch) lengthen() error {
	few := b.run.few
	b.keys.SeekGE(few[0])
	for _, name := range few {
		if b.compareNext(name) != 0 {
			return b.flushRun()
		}
		b.keys.Next()
	}
	b.run = clearRun{begin: few[0], end: keys.Successor(few[len(few)-1]), few: few[:0]}
	return nil
}

// flushRun writes the run, or the few keys.
func (b *Batch) flushRun() error {
	r := b.run
	b.run = clearRun{few: r.few[:0]}
	if r.long() {
		return b.batch.DeleteRange(r.begin, r.end, nil)
	}
	for _, name := range r.few {
		if err := b.batch.Delete(name, nil); err != nil {
			return err
		}
	}
	return b.keys.Error()
}
