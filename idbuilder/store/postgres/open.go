// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

// Store is a [store.Store] in a PostgreSQL database.
type Store struct{ *sqlstore.Store }

var _ store.Store = (*Store)(nil)

// Open returns a store. It connects when the first call needs it to.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	limits := o.limits().WithDefaults()
	config, err := o.parseURL()
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.ConnConfig.ConnectTimeout = int32(limits.Connections), limits.Connect
	config.MinConns, config.MinIdleConns = 0, 0
	config.AfterConnect = prepareSession
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "idbuilder"
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s := &server{executor: executor{pool}, pool: pool, acceptLoss: o.AcceptLoss}
	return &Store{sqlstore.New(s, dialect, limits)}, nil
}

// session makes the settings that calls rely on: commits are on disk when they are
// acknowledged, and each statement sees all earlier commits. The server ends the
// transaction of a process that has stopped.
const session = `SELECT
	set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false),
	set_config('default_transaction_isolation', 'read committed', false),
	set_config('idle_in_transaction_session_timeout', '30000', false)`

func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, session)
	return err
}
