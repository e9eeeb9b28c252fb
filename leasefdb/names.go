// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Names are the named leases in one directory of a database: locks, elections,
// whatever one process at a time may do. It is safe for concurrent use.
type Names struct {
	db   kv.Database
	path []string
	dirs *directory.Cache
}

// NameOptions configure [Names]. The zero value is ready to use.
type NameOptions struct {
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the names. All programs that share names use the
	// same. The default value is kazahana/names.
	Path []string
}

// NewNames returns the names in a directory of db. Nothing is read or written:
// the first claim creates the directory.
func NewNames(db kv.Database, o NameOptions) (*Names, error) {
	if db == nil {
		return nil, errors.New("leasefdb: the database of the names is nil")
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "names"}
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, err
	}
	return &Names{db: db, path: o.Path, dirs: dirs}, nil
}

// maxName keeps the keys of a name within their limit, and those of others
// readable.
const maxName = 1024

func checkText(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("leasefdb: the %s is empty", what)
	case len(text) > maxName:
		return fmt.Errorf("leasefdb: the %s has %d bytes; at most %d are possible", what, len(text), maxName)
	case !utf8.ValidString(text):
		return fmt.Errorf("leasefdb: the %s is not valid UTF-8", what)
	}
	return nil
}

// keys are those of one name: the fence key says who holds it and is written
// only when that changes, the renewal key counts. So a renewal does not
// conflict with the transactions of the holder, which read the fence key.
type keys struct{ fence, renewal []byte }

// Letters of the keys in the directory: (letter, name).
const (
	letterFence   = "F"
	letterRenewal = "N"
)

func keysOf(d *directory.Directory, name string) (k keys, err error) {
	prefix, err := d.Prefix()
	if err != nil {
		return k, err
	}
	key := func(letter string) []byte {
		b := append(make([]byte, 0, len(prefix)+len(name)+8), prefix...)
		return tuple.AppendString(tuple.AppendString(b, letter), name)
	}
	return keys{fence: key(letterFence), renewal: key(letterRenewal)}, nil
}

// read reads both keys in one round.
func (k keys) read(ctx context.Context, tx kv.ReadTransaction, name string) (State, error) {
	return k.start(tx).wait(ctx, name)
}

// start begins to read both keys; those of no directory have no values.
func (k keys) start(tx kv.ReadTransaction) reading {
	if k.fence == nil {
		return reading{}
	}
	return reading{k.fence, tx.Get(k.fence), tx.Get(k.renewal)}
}

// reading is a read of both keys of a name under way.
type reading struct {
	key            []byte
	fence, renewal kv.Future[[]byte]
}

func (r reading) wait(ctx context.Context, name string) (State, error) {
	value, err := r.fence.Get(ctx)
	if err != nil {
		return State{}, err
	}
	count, err := r.renewal.Get(ctx)
	if err != nil {
		return State{}, err
	}
	return decodeState(name, r.key, value, count)
}

// Get returns the state of a name, that of one that was never held if there is
// none. Given a transaction that writes, it conflicts with every change of the
// state, renewals included.
func (n *Names) Get(ctx context.Context, t kv.ReadTransactor, name string) (State, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (State, error) {
		k, err := n.openKeys(ctx, tx, name)
		if err != nil {
			return State{}, err
		}
		return k.read(ctx, tx, name)
	})
}

// newRequestID returns a request id that no other claim has.
func newRequestID() string { return rand.Text() }
