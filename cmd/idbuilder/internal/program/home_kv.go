// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func openEmbedded(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := embedded.Open(s.Embedded.Path)
	var locked *embedded.LockedError
	if errors.As(err, &locked) {
		err = fmt.Errorf("%w; one process at a time uses the embedded engine: stop the one that runs, or ask it, if the command has the flag --server", err)
	}
	if err != nil {
		return Home{}, err
	}
	return openKV(db, s.Embedded.Path, db.Close)
}

func openFoundationDB(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := fdbkv.Open(s.FoundationDB.ClusterFile)
	if err != nil {
		return Home{}, err
	}
	return openKV(db, s.FoundationDB.ClusterFile, db.Close)
}

func openKV(db kv.Database, where string, end func() error) (Home, error) {
	s, err := kvstore.New(db, kvstore.Options{})
	if err != nil {
		return Home{}, errors.Join(err, end())
	}
	return Home{kvHome{s, end}, where}, nil
}

// kvHome closes the database with the store.
type kvHome struct {
	store.Store
	end func() error
}

// Close implements [store.Store].
func (k kvHome) Close() error { return errors.Join(k.Store.Close(), k.end()) }
