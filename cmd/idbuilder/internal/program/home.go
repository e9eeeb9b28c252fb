// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/deployed"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/file"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

// Home is an open store.
type Home struct {
	store.Store
	Where string // for people, without passwords
}

// homes has the functions that open the stores of each backend.
var homes = map[string]func(ctx context.Context, s settings.Storage, log *slog.Logger) (Home, error){
	settings.Embedded:     openEmbedded,
	settings.FoundationDB: openFoundationDB,
	settings.File:         openFile,
	settings.MySQL:        openMySQL,
	settings.PostgreSQL:   openPostgres,
	settings.Redis:        openRedis,
}

// Open connects to the store that the settings name. The caller initialises it.
func Open(ctx context.Context, s settings.Storage, log *slog.Logger) (Home, error) {
	open := homes[s.Backend]
	if open == nil {
		return Home{}, fmt.Errorf("this program has no store of the kind %q", s.Backend)
	}
	h, err := open(ctx, s, log)
	if err != nil {
		return Home{}, fmt.Errorf("storage.backend %s: %w", s.Backend, err)
	}
	return h, nil
}

// Initialise creates or migrates the schema of the store.
func (h Home) Initialise(ctx context.Context, s settings.Storage) error {
	err := h.Init(ctx)
	if err != nil && s.Backend == settings.File && deployed.Is(s.File.Path) {
		err = fmt.Errorf("%s is the folder of a deployed worker: name another one with storage.file.path, and run idbuilder import %s (%w)", s.File.Path, s.File.Path, err)
	}
	return err
}

func openFile(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	f, err := file.Open(s.File.Path, file.Options{})
	return Home{f, s.File.Path}, err
}

func openMySQL(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := mysql.Open(mysql.Options{
		URL: s.MySQL.URL.Reveal(), MaxConnections: s.MySQL.MaxConnections,
		ConnectTimeout: s.MySQL.ConnectTimeout, CallTimeout: s.MySQL.CallTimeout, AcceptLoss: s.MySQL.AcceptLoss,
	})
	return Home{db, s.MySQL.URL.String()}, err
}

func openPostgres(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := postgres.Open(postgres.Options{
		URL: s.Postgres.URL.Reveal(), MaxConnections: s.Postgres.MaxConnections,
		ConnectTimeout: s.Postgres.ConnectTimeout, CallTimeout: s.Postgres.CallTimeout, AcceptLoss: s.Postgres.AcceptLoss,
	})
	return Home{db, s.Postgres.URL.String()}, err
}
