// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbpeer

import (
	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/directory"
)

// Pairs are keys and values in a directory of their own, which programs read and write with
// the official binding.
type Pairs struct {
	Prefix []byte // of all keys

	db   fdb.Database
	path []string
}

// OpenPairs makes the directory, which Close removes.
func OpenPairs(clusterFile string, path []string) (*Pairs, error) {
	db, err := fdb.OpenDatabase(clusterFile)
	if err != nil {
		return nil, err
	}
	dir, err := directory.CreateOrOpen(db, path, nil)
	if err != nil {
		return nil, err
	}
	return &Pairs{Prefix: dir.Bytes(), db: db, path: path}, nil
}

// Close removes the directory.
func (p *Pairs) Close() error {
	_, err := directory.Root().Remove(p.db, p.path)
	return err
}

// Get returns the value of a key, in a transaction of its own.
func (p *Pairs) Get(key []byte) ([]byte, error) {
	value, err := p.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) { return tr.Get(fdb.Key(key)).Get() })
	if err != nil {
		return nil, err
	}
	return value.([]byte), nil
}

// Set sets a key, in a transaction of its own.
func (p *Pairs) Set(key, value []byte) error {
	_, err := p.db.Transact(func(tr fdb.Transaction) (any, error) {
		tr.Set(fdb.Key(key), value)
		return nil, nil
	})
	return err
}

// Slice counts the pairs from begin to end, read at once; limit 0: all of them.
func (p *Pairs) Slice(begin, end []byte, limit int, exact bool) (int, error) {
	o := fdb.RangeOptions{Limit: limit}
	if exact {
		o.Mode = fdb.StreamingModeExact
	}
	n, err := p.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) {
		pairs, err := tr.GetRange(fdb.KeyRange{Begin: fdb.Key(begin), End: fdb.Key(end)}, o).GetSliceWithError()
		return len(pairs), err
	})
	if err != nil {
		return 0, err
	}
	return n.(int), nil
}

// Iterate counts the pairs from begin to end, one after the other; limit 0: all of them.
func (p *Pairs) Iterate(begin, end []byte, limit int) (int, error) {
	n, err := p.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) {
		n := 0
		pairs := tr.GetRange(fdb.KeyRange{Begin: fdb.Key(begin), End: fdb.Key(end)}, fdb.RangeOptions{Limit: limit}).Iterator()
		for ; pairs.Advance(); n++ {
			if _, err := pairs.Get(); err != nil {
				return nil, err
			}
		}
		return n, nil
	})
	if err != nil {
		return 0, err
	}
	return n.(int), nil
}
