// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// openPebble opens Pebble as one would tune it for this data: a cache that
// holds everything, a large memtable, filters on every level.
func openPebble(dir string) (*pebble.DB, error) {
	o := pebbleOptions()
	defer o.Cache.Unref()
	return pebble.Open(dir, o)
}

// pebbleOptions are Pebble's options in all contests. The caller has a reference to the
// cache.
func pebbleOptions() *pebble.Options {
	o := &pebble.Options{
		Cache:                 pebble.NewCache(cacheSize),
		MemTableSize:          64 << 20,
		L0CompactionThreshold: 2,
		MaxOpenFiles:          512,
		FormatMajorVersion:    pebble.FormatNewest,
		Logger:                silent{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

type silent struct{}

// Infof implements [pebble.Logger].
func (silent) Infof(string, ...any) {}

// Errorf implements [pebble.Logger].
func (silent) Errorf(string, ...any) {}

// Fatalf implements [pebble.Logger].
func (silent) Fatalf(format string, args ...any) { pebble.DefaultLogger.Fatalf(format, args...) }

// fillPebble writes so many records, in batches as large as the engine's.
func fillPebble(db *pebble.DB, n int) error {
	return steps(n, fillBatch, func(begin, end int) error {
		b := db.NewBatch()
		for i := begin; i < end; i++ {
			r := shuffled(i, n)
			if err := b.Set(appendKey(nil, r), value(r), nil); err != nil {
				return err
			}
		}
		return errors.Join(b.Commit(pebble.Sync), b.Close())
	})
}

// settledPebble returns a store that was opened again after all records were in tables.
func settledPebble(dir string) (*pebble.DB, error) {
	db, err := openPebble(dir)
	if err != nil {
		return nil, err
	}
	if err := fillPebble(db, totalKeys); err != nil {
		return nil, err
	}
	if err := db.Flush(); err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return openPebble(dir)
}

// pebbleGet reads record i. It does not copy the value.
func pebbleGet(db *pebble.DB, buf *[]byte, i int) error {
	v, closer, err := db.Get(key(buf, i))
	if err != nil {
		return err
	}
	if err := checkValue(v, i); err != nil {
		return err
	}
	return closer.Close()
}

// pebbleScan reads the records from i on with an iterator, and hands each to
// see.
func pebbleScan(db *pebble.DB, i int, see func(key, value []byte)) error {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: appendKey(nil, i), UpperBound: appendKey(nil, i+scanned)})
	if err != nil {
		return err
	}
	at := i
	for ok := it.First(); ok; ok = it.Next() {
		if err := checkValue(it.Value(), at); err != nil {
			return err
		}
		if see != nil {
			see(it.Key(), it.Value())
		}
		at++
	}
	if err := it.Close(); err != nil {
		return err
	}
	return checkScanned(at - i)
}
