// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	driver "github.com/go-sql-driver/mysql"

	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

// server is a pool of connections.
type server struct {
	executor
	db         *sql.DB
	idle       int // connections that are kept
	acceptLoss bool
}

var _ sqlstore.Server = (*server)(nil)

// Transact implements [sqlstore.Server].
func (s *server) Transact(ctx context.Context, fn func(sqlstore.Conn) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(executor{tx}); err != nil {
		_ = tx.Rollback() // the error counts; a connection that cannot roll back is closed
		return err
	}
	return tx.Commit()
}

// lock waits for the lock of migrations for 5 s. Names of locks are the server's,
// not the database's.
const lock = "SELECT COALESCE(GET_LOCK(CONCAT('idbuilder.', SHA1(DATABASE())), 5), -1)"

// Lock implements [sqlstore.Server]. The connection is closed at the end, and the
// lock with it.
func (s *server) Lock(ctx context.Context, fn func(sqlstore.Conn) error) error {
	collation, err := s.collation(ctx)
	if err != nil {
		return err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Raw(func(any) error { return sqldriver.ErrBadConn }) }()
	for got := 0; got != 1; {
		if err := conn.QueryRowContext(ctx, lock).Scan(&got); err != nil {
			return err
		}
		if got < 0 {
			return errors.New("GET_LOCK has failed")
		}
	}
	return fn(migrator{executor{conn}, collation})
}

// collation returns the collation that compares bytes, spaces at the end
// included.
func (s *server) collation(ctx context.Context) (name string, err error) {
	const known = "SELECT collation_name FROM information_schema.collations WHERE collation_name IN ('utf8mb4_0900_bin', 'utf8mb4_nopad_bin')"
	err = s.db.QueryRowContext(ctx, known).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("the server has no collation utf8mb4_0900_bin or utf8mb4_nopad_bin: MySQL 8.0.17 or MariaDB 10.6 is needed, or a newer one")
	}
	return name, err
}

// Check implements [sqlstore.Server].
func (s *server) Check(ctx context.Context) error {
	var flush, log, sync int
	const settings = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin, @@GLOBAL.sync_binlog"
	if err := s.db.QueryRowContext(ctx, settings).Scan(&flush, &log, &sync); err != nil {
		return err
	}
	const danger = "the server may lose what it has acknowledged, and then numbers would be given twice"
	switch {
	case s.acceptLoss:
	case flush != 1:
		return fmt.Errorf("%s: innodb_flush_log_at_trx_commit is %d, it must be 1 (or AcceptLoss be set; in the settings of idbuilder, accept_loss)", danger, flush)
	case log != 0 && sync != 1:
		return fmt.Errorf("%s: it has a binary log, and sync_binlog is %d, it must be 1 (or AcceptLoss be set; in the settings of idbuilder, accept_loss)", danger, sync)
	}
	return nil
}

// Classify implements [sqlstore.Server].
func (s *server) Classify(err error) sqlstore.Class {
	var server *driver.MySQLError
	if !errors.As(err, &server) {
		return sqlstore.Other
	}
	switch server.Number {
	case 1213, 1205, 1020: // deadlock, lock wait timeout, record changed since last read
		return sqlstore.Transient
	case 1290, 1792, 1836, 1036: // option prevents statement, read-only transaction, read-only mode, read-only table
		return sqlstore.ReadOnly
	case 1146: // no such table
		return sqlstore.NoTable
	}
	return sqlstore.Other
}

// Reset implements [sqlstore.Server].
func (s *server) Reset() {
	s.db.SetMaxIdleConns(0)
	s.db.SetMaxIdleConns(s.idle)
}

// Close implements [sqlstore.Server].
func (s *server) Close() error { return s.db.Close() }
