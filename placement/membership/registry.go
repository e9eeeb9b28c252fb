// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Registry are the members in one directory of a database. It is safe for
// concurrent use.
type Registry struct {
	db      kv.Database
	options Options
	names   *leasefdb.Names
	dirs    *directory.Cache
}

// New returns the members of db. Nothing is read or written: the first process that
// joins or watches creates the directory.
func New(db kv.Database, o Options) (*Registry, error) {
	if db == nil {
		return nil, errors.New("membership: the database is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	names, err := leasefdb.NewNames(db, leasefdb.NameOptions{Layer: o.Layer, Path: o.Path})
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, fmt.Errorf("membership: %w", err)
	}
	return &Registry{db: db, options: o, names: names, dirs: dirs}, nil
}

// createKeys returns the keys of the directory, which it creates if there is none.
func (r *Registry) createKeys(ctx context.Context, tx kv.Transaction) (keys, error) {
	return keysOf(r.dirs.CreateOrOpen(ctx, tx, r.options.Path))
}

// openKeys returns the keys of the directory, and whether there is one.
func (r *Registry) openKeys(ctx context.Context, tx kv.ReadTransaction) (k keys, found bool, err error) {
	d, err := r.dirs.OpenRead(ctx, tx, r.options.Path)
	if errors.Is(err, directory.ErrNotFound) {
		return k, false, nil
	}
	k, err = keysOf(d, err)
	return k, err == nil, err
}

// Topology returns the members, by name; the version is 0 if there never was one.
// Given a transaction, it reads in that, without conflicts. One round of reads. If rows cannot be
// read it returns the other members, and a *[CorruptError] of each, joined.
func (r *Registry) Topology(ctx context.Context, t kv.ReadTransactor) (placement.Topology, error) {
	var damaged error
	topology, err := kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (placement.Topology, error) {
		damaged = nil
		k, found, err := r.openKeys(ctx, tx)
		if err != nil || !found {
			return placement.Topology{}, err
		}
		version := k.startVersion(tx)
		t, all, err := k.readTopology(ctx, tx)
		if err != nil {
			return t, err
		}
		if t.Version, err = version(ctx); err != nil {
			return t, err
		}
		damaged = all.fault()
		return t, nil
	})
	return topology, errors.Join(err, damaged)
}

// StartAlive begins to read whether an owner is a member, for placement/kvstore. The
// read is serializable: it conflicts with the end of the owner, and not with its renewals.
func (r *Registry) StartAlive(ctx context.Context, tx kv.ReadTransaction, owner placement.Owner) func(context.Context) (bool, error) {
	holding := r.names.StartHolder(ctx, tx, owner.Name)
	return func(ctx context.Context) (bool, error) {
		state, err := holding.Wait(ctx)
		return err == nil && state.Held() && state.Epoch == owner.Incarnation, err
	}
}
