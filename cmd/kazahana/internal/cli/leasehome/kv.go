// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
)

func openEmbedded(_ context.Context, o OpenOptions) (*Home, error) {
	if o.rest == "" {
		return nil, shell.Invalid(errors.New("embedded: which folder? As in embedded:data"))
	}
	if err := o.expectStored(filepath.Join(o.rest, "IDENTITY"), "no database in the folder "+o.rest); err != nil {
		return nil, err
	}
	db, err := embedded.Open(o.rest)
	if err != nil {
		return nil, err
	}
	return openKV(db, o, db.Close)
}

func openFDB(_ context.Context, o OpenOptions) (*Home, error) {
	db, err := fdbkv.Open(o.rest)
	if err != nil {
		return nil, err
	}
	return openKV(db, o, db.Close)
}

// openKV leases from a database, as programs do that open it with persistable. The database
// loses nothing that it has acknowledged.
func openKV(db kv.Database, o OpenOptions, end func() error) (*Home, error) {
	o.Server.Fresh = true
	store, err := leasefdb.NewStore(db, leasefdb.StoreOptions{})
	if err == nil {
		return serverOf(store, o, end)
	}
	return nil, errors.Join(err, end())
}

// serverOf returns the leases that a server grants from a store.
func serverOf(store lease.Store, o OpenOptions, end func() error) (*Home, error) {
	server, err := lease.NewServer(store, o.Server)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &Home{Provider: server, List: server.List, Services: server.Services, Quarantine: server, Close: end}, nil
}
