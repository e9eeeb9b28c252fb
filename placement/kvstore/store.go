// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Liveness knows which owners are alive. Package placement/membership implements it. It
// must not call the Store.
type Liveness interface {
	// StartAlive starts the reads in tx by which it finds out whether an owner is alive, so that
	// other reads share the round. The function that it returns waits for the answer. A dead
	// owner stays dead. If the answer changes before tx commits, the commit fails with a
	// conflict. Writes of live owners, such as renewals, do not conflict with tx.
	StartAlive(ctx context.Context, tx kv.ReadTransaction, owner placement.Owner) func(context.Context) (bool, error)
}

// Options configure a [Store]. Members is required.
type Options struct {
	// Members knows which owners are alive.
	Members Liveness
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the rows and entries. All members and clients of a cluster use
	// the same. The default value is kazahana/placement.
	Path []string
}

// Store is a home of locks and of entries in one directory of a database: a driver.Lock
// and a driver.Storage. It is safe for concurrent use.
type Store struct {
	db      kv.Database
	members Liveness
	path    []string
	dirs    *directory.Cache

	prefix atomic.Pointer[[]byte] // of the directory, as the last claim saw it
}

// New returns a store in db. Nothing is read or written: the first claim creates
// the directory.
func New(db kv.Database, o Options) (*Store, error) {
	if db == nil {
		return nil, errors.New("kvstore: the database is nil")
	}
	if o.Members == nil {
		return nil, errors.New("kvstore: Options.Members is nil: nothing could be claimed that a dead owner has; give a membership.Registry")
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "placement"}
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, fmt.Errorf("kvstore: %w", err)
	}
	return &Store{db: db, members: o.Members, path: o.Path, dirs: dirs}, nil
}

// createKeys returns the keys of the directory, which it creates if there is none.
func (s *Store) createKeys(ctx context.Context, tx kv.Transaction) (keys, error) {
	d, err := s.dirs.CreateOrOpen(ctx, tx, s.path)
	return keysOf(d, err)
}

// openKeys returns the keys of the directory, and whether there is one.
func (s *Store) openKeys(ctx context.Context, tx kv.ReadTransaction) (k keys, found bool, err error) {
	d, err := s.dirs.OpenRead(ctx, tx, s.path)
	if errors.Is(err, directory.ErrNotFound) {
		return k, false, nil
	}
	k, err = keysOf(d, err)
	return k, err == nil, err
}

func keysOf(d *directory.Directory, err error) (keys, error) {
	if err != nil {
		return keys{}, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return keys{}, err
	}
	return keys{prefix}, nil
}
