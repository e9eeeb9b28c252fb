// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"

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

// executor is a pool, a connection or a transaction.
type executor struct {
	on interface {
		ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	}
}

var _ sqlstore.Conn = executor{}

// Exec implements [sqlstore.Conn].
func (e executor) Exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	result, err := e.on.ExecContext(ctx, statement, args...)
	var server *driver.MySQLError
	if errors.As(err, &server) && server.Number == 1062 { // duplicate entry
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Number implements [sqlstore.Conn].
func (e executor) Number(ctx context.Context, statement string, args ...any) (n, rows int64, err error) {
	result, err := e.on.ExecContext(ctx, statement, args...)
	var server *driver.MySQLError
	if errors.As(err, &server) && server.Number == 1062 {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	if rows, err = result.RowsAffected(); err != nil || rows == 0 {
		return 0, rows, err
	}
	if n, err = result.LastInsertId(); err == nil && n == 0 {
		err = errors.New("the server does not return the number that a change has made: the tables of the ID service must not have triggers")
	}
	return n, rows, err
}

// Query implements [sqlstore.Conn].
func (e executor) Query(ctx context.Context, row func(func(...any) error) error, statement string, args ...any) error {
	rows, err := e.on.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// migrator executes statements that define tables.
type migrator struct {
	executor
	collation string
}

// Exec implements [sqlstore.Conn].
func (m migrator) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	return m.executor.Exec(ctx, strings.ReplaceAll(statement, "{collation}", m.collation), args...)
}

var dialect = sqlstore.Dialect{
	Name:   "mysql",
	Schema: "DATABASE()",
	Create: `INSERT INTO id_documents (kind, doc_key, value, expires_at, version)
		SELECT ?, ?, ?, ?, LAST_INSERT_ID(value + 1) FROM id_state WHERE name = 'floor' AND ` + sqlstore.Guard + ` LOCK IN SHARE MODE`,
	Advance: `UPDATE id_state SET value = LAST_INSERT_ID(value + 1) WHERE name = 'revision' AND ` + sqlstore.Guard,
	Migrations: []sqlstore.Migration{
		{Description: "sequences, configurations, locks, versions, documents, state", Statements: initial},
	},
	Columns: []string{
		"id_sequences key_name varchar", "id_sequences current_value bigint", "id_sequences version bigint",
		"id_configs key_name varchar", "id_configs id_type varchar", "id_configs config_json json|longtext",
		"distributed_locks lock_key varchar", "distributed_locks owner_id varchar",
		"schema_versions version int", "schema_versions description varchar",
		"id_documents kind varchar", "id_documents doc_key varchar", "id_documents version bigint", "id_documents value json|longtext",
		"id_state name varchar", "id_state value bigint",
	},
}

// table ends the definition of a table. {collation} becomes one that compares
// bytes and does not ignore spaces at the end; its name differs between servers.
const table = ` ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}`

// initial makes the tables.
var initial = []string{
	`CREATE TABLE IF NOT EXISTS distributed_locks (
		lock_key VARCHAR(255) NOT NULL,
		owner_id VARCHAR(255) NOT NULL,
		expires_at TIMESTAMP NOT NULL,
		created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (lock_key))` + table,
	`CREATE TABLE IF NOT EXISTS schema_versions (
		id INT NOT NULL AUTO_INCREMENT,
		version INT NOT NULL,
		applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		description VARCHAR(500) NULL DEFAULT NULL,
		PRIMARY KEY (id), UNIQUE INDEX idx_version (version))` + table,
	`CREATE TABLE IF NOT EXISTS id_sequences (
		id BIGINT NOT NULL AUTO_INCREMENT,
		key_name VARCHAR(255) NOT NULL,
		current_value BIGINT NOT NULL DEFAULT 0,
		version BIGINT NOT NULL DEFAULT 0,
		created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
		PRIMARY KEY (id), UNIQUE INDEX idx_key_name (key_name))` + table,
	`CREATE TABLE IF NOT EXISTS id_configs (
		id BIGINT NOT NULL AUTO_INCREMENT,
		key_name VARCHAR(255) NOT NULL,
		id_type VARCHAR(50) NOT NULL,
		config_json JSON NOT NULL,
		created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
		PRIMARY KEY (id), UNIQUE INDEX idx_configs_key (key_name))` + table,
	`CREATE TABLE IF NOT EXISTS id_documents (
		kind VARCHAR(32) NOT NULL,
		doc_key VARCHAR(255) NOT NULL,
		version BIGINT NOT NULL,
		value JSON NULL,
		expires_at DATETIME(6) NULL,
		created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
		updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
		PRIMARY KEY (kind, doc_key), INDEX idx_documents_expires (expires_at))` + table,
	`CREATE TABLE IF NOT EXISTS id_state (
		name VARCHAR(32) NOT NULL,
		value BIGINT NOT NULL,
		PRIMARY KEY (name))` + table,
	`INSERT INTO id_state (name, value) VALUES ('revision', 0)`,
	`INSERT INTO id_state (name, value) VALUES ('floor', 0)`,
}
