// SPDX-License-Identifier: Apache-2.0

package idbuilderd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/kazahana-db/kazahana/idbuilder/settings"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/file"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// home is an open store.
type home struct {
	store.Store
	where string // for people, without passwords
}

// homes open the stores of each backend.
var homes = map[string]func(ctx context.Context, s settings.Storage, log *slog.Logger) (home, error){
	settings.Embedded:     openEmbedded,
	settings.FoundationDB: openFoundationDB,
	settings.File:         openFile,
	settings.MySQL:        openMySQL,
	settings.PostgreSQL:   openPostgres,
}

// open connects to the store that the settings name. The caller initialises it.
func open(ctx context.Context, s settings.Storage, log *slog.Logger) (home, error) {
	open := homes[s.Backend]
	if open == nil {
		return home{}, fmt.Errorf("this program has no store of the kind %q", s.Backend)
	}
	h, err := open(ctx, s, log)
	if err != nil {
		return home{}, fmt.Errorf("storage.backend %s: %w", s.Backend, err)
	}
	return h, nil
}

func openEmbedded(_ context.Context, s settings.Storage, _ *slog.Logger) (home, error) {
	db, err := embedded.Open(s.Embedded.Path)
	var locked *embedded.LockedError
	if errors.As(err, &locked) {
		err = fmt.Errorf("%w; one process at a time uses the embedded engine: ask the one that runs, with --server, or stop it", err)
	}
	if err != nil {
		return home{}, err
	}
	return openKV(db, s.Embedded.Path, db.Close)
}

func openFoundationDB(_ context.Context, s settings.Storage, _ *slog.Logger) (home, error) {
	db, err := fdbkv.Open(s.FoundationDB.ClusterFile)
	if err != nil {
		return home{}, err
	}
	return openKV(db, s.FoundationDB.ClusterFile, db.Close)
}

func openFile(_ context.Context, s settings.Storage, _ *slog.Logger) (home, error) {
	f, err := file.Open(s.File.Path, file.Options{})
	return home{f, s.File.Path}, err
}

func openMySQL(_ context.Context, s settings.Storage, _ *slog.Logger) (home, error) {
	db, err := mysql.Open(mysql.Options{
		URL: s.MySQL.URL.Reveal(), MaxConnections: s.MySQL.MaxConnections,
		ConnectTimeout: s.MySQL.ConnectTimeout, CallTimeout: s.MySQL.CallTimeout, AcceptLoss: s.MySQL.AcceptLoss,
	})
	return home{db, s.MySQL.URL.String()}, err
}

func openPostgres(_ context.Context, s settings.Storage, _ *slog.Logger) (home, error) {
	db, err := postgres.Open(postgres.Options{
		URL: s.Postgres.URL.Reveal(), MaxConnections: s.Postgres.MaxConnections,
		ConnectTimeout: s.Postgres.ConnectTimeout, CallTimeout: s.Postgres.CallTimeout, AcceptLoss: s.Postgres.AcceptLoss,
	})
	return home{db, s.Postgres.URL.String()}, err
}

func openKV(db kv.Database, where string, end func() error) (home, error) {
	s, err := kvstore.New(db, kvstore.Options{})
	if err != nil {
		return home{}, errors.Join(err, end())
	}
	return home{kvHome{s, end}, where}, nil
}

// kvHome closes the database with the store.
type kvHome struct {
	store.Store
	end func() error
}

// Close implements [store.Store].
func (k kvHome) Close() error { return errors.Join(k.Store.Close(), k.end()) }
