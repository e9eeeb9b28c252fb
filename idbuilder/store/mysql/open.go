// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	driver "github.com/go-sql-driver/mysql"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

// Store is a [store.Store] in a database of MySQL or MariaDB.
type Store struct{ *sqlstore.Store }

var _ store.Store = (*Store)(nil)

// Open returns a store. It connects when the first call needs it to.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	limits := o.limits().WithDefaults()
	config, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	config.Timeout = limits.Connect
	inner, err := driver.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	db := sql.OpenDB(connector{inner})
	db.SetMaxOpenConns(limits.Connections)
	db.SetMaxIdleConns(limits.Connections)
	s := &server{executor: executor{db}, db: db, idle: limits.Connections, acceptLoss: o.AcceptLoss}
	return &Store{sqlstore.New(s, dialect, limits)}, nil
}

// connector sets the isolation level of sessions, which servers know by
// different variables.
type connector struct{ sqldriver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(sqldriver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("mysql: the driver executes no statements"), conn.Close())
	}
	if _, err := execer.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
