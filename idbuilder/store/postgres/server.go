// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

// server is a pool of connections.
type server struct {
	executor
	pool       *pgxpool.Pool
	acceptLoss bool
}

var _ sqlstore.Server = (*server)(nil)

// Transact implements [sqlstore.Server].
func (s *server) Transact(ctx context.Context, fn func(sqlstore.Conn) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return fn(executor{tx}) })
}

// migrationLock is the number of the advisory lock, of the bytes "idbuilde".
const migrationLock = int64(0x69646275696c6465)

// Lock implements [sqlstore.Server]. The connection is closed at the end, and the
// lock with it.
func (s *server) Lock(ctx context.Context, fn func(sqlstore.Conn) error) error {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return err
	}
	return fn(executor{conn})
}

// Check implements [sqlstore.Server].
func (s *server) Check(ctx context.Context) error {
	var encoding, fsync, pages string
	const settings = "SELECT current_setting('server_encoding'), current_setting('fsync'), current_setting('full_page_writes')"
	if err := s.pool.QueryRow(ctx, settings).Scan(&encoding, &fsync, &pages); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s, it must be UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	if (fsync != "on" || pages != "on") && !s.acceptLoss {
		return fmt.Errorf("the server may lose what it has acknowledged, and then numbers would be given twice: fsync is %s and full_page_writes is %s, both must be on (or AcceptLoss be set; in the settings of idbuilder, accept_loss)", fsync, pages)
	}
	return nil
}

// Classify implements [sqlstore.Server].
func (s *server) Classify(err error) sqlstore.Class {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return sqlstore.Other
	}
	switch server.Code {
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return sqlstore.Transient
	case "25006": // read_only_sql_transaction
		return sqlstore.ReadOnly
	case "42P01": // undefined_table
		return sqlstore.NoTable
	}
	return sqlstore.Other
}

// Reset implements [sqlstore.Server].
func (s *server) Reset() { s.pool.Reset() }

// Close implements [sqlstore.Server].
func (s *server) Close() error {
	s.pool.Close()
	return nil
}

// executor is a pool, a connection or a transaction.
type executor struct {
	on interface {
		Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	}
}

var _ sqlstore.Conn = executor{}

// Exec implements [sqlstore.Conn].
func (e executor) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := e.on.Exec(ctx, numbered(statement), args...)
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return tag.RowsAffected(), err
	}
	switch {
	case server.Code == "23505" && strings.HasPrefix(statement, "INSERT"): // unique_violation
		err = nil
	case server.Code == "22P05": // untranslatable_character
		err = fmt.Errorf(`a text in the value has the character \u0000, which the type jsonb cannot have: %w`, err)
	}
	return 0, err
}

// Number implements [sqlstore.Conn].
func (e executor) Number(ctx context.Context, statement string, args ...any) (n, rows int64, err error) {
	err = e.Query(ctx, func(scan func(...any) error) error {
		rows++
		return scan(&n)
	}, statement, args...)
	return n, rows, err
}

// Query implements [sqlstore.Conn].
func (e executor) Query(ctx context.Context, row func(func(...any) error) error, statement string, args ...any) error {
	rows, err := e.on.Query(ctx, numbered(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// numbered returns a statement with $1, $2, … in place of each ?.
func numbered(statement string) string {
	var b strings.Builder
	parts := strings.Split(statement, "?")
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

var dialect = sqlstore.Dialect{
	Name:   "postgres",
	Schema: "(SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass('schema_versions'))",
	Create: `INSERT INTO id_documents (kind, doc_key, value, expires_at, version)
		SELECT CAST(? AS VARCHAR), CAST(? AS VARCHAR), CAST(? AS JSON), CAST(? AS TIMESTAMPTZ), f.value + 1
		FROM (SELECT value FROM id_state WHERE name = 'floor' FOR SHARE) AS f WHERE ` + sqlstore.Guard + `
		ON CONFLICT DO NOTHING RETURNING version`,
	Advance: `UPDATE id_state SET value = value + 1 WHERE name = 'revision' AND ` + sqlstore.Guard + ` RETURNING value`,
	Reserve: `UPDATE id_sequences SET current_value = current_value + ?, version = version + 1, updated_at = CURRENT_TIMESTAMP
		WHERE key_name = ? AND current_value BETWEEN ? AND ? AND ` + sqlstore.Guard + ` RETURNING current_value, version`,
	Migrations: []sqlstore.Migration{
		{Description: "sequences, configurations, locks, versions, documents, state", Statements: initial},
	},
	Columns: []string{
		"id_sequences key_name character varying", "id_sequences current_value bigint", "id_sequences version bigint",
		"id_configs key_name character varying", "id_configs id_type character varying", "id_configs config_json jsonb",
		"distributed_locks lock_key character varying", "distributed_locks owner_id character varying",
		"schema_versions version integer", "schema_versions description character varying",
		"id_documents kind character varying", "id_documents doc_key character varying", "id_documents version bigint", "id_documents value json",
		"id_state name character varying", "id_state value bigint",
	},
}

// initial makes the tables. Keys are compared as bytes.
var initial = []string{
	`CREATE TABLE IF NOT EXISTS distributed_locks (
		lock_key VARCHAR(255) COLLATE "C" PRIMARY KEY,
		owner_id VARCHAR(255) NOT NULL,
		expires_at TIMESTAMPTZ NOT NULL,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`,
	`CREATE TABLE IF NOT EXISTS schema_versions (
		id SERIAL PRIMARY KEY,
		version INT NOT NULL,
		applied_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		description VARCHAR(500))`,
	`CREATE UNIQUE INDEX IF NOT EXISTS idx_version ON schema_versions (version)`,
	`CREATE TABLE IF NOT EXISTS id_sequences (
		id BIGSERIAL PRIMARY KEY,
		key_name VARCHAR(255) COLLATE "C" NOT NULL,
		current_value BIGINT NOT NULL DEFAULT 0,
		version BIGINT NOT NULL DEFAULT 0,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`,
	`CREATE UNIQUE INDEX IF NOT EXISTS idx_key_name ON id_sequences (key_name)`,
	`CREATE TABLE IF NOT EXISTS id_configs (
		id BIGSERIAL PRIMARY KEY,
		key_name VARCHAR(255) COLLATE "C" NOT NULL,
		id_type VARCHAR(50) NOT NULL,
		config_json JSONB NOT NULL,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`,
	`CREATE UNIQUE INDEX IF NOT EXISTS idx_configs_key ON id_configs (key_name)`,
	`CREATE TABLE IF NOT EXISTS id_documents (
		kind VARCHAR(32) COLLATE "C" NOT NULL,
		doc_key VARCHAR(255) COLLATE "C" NOT NULL,
		version BIGINT NOT NULL,
		value JSON,
		expires_at TIMESTAMPTZ,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		PRIMARY KEY (kind, doc_key))`,
	`CREATE INDEX IF NOT EXISTS idx_documents_expires ON id_documents (expires_at)`,
	`CREATE TABLE IF NOT EXISTS id_state (
		name VARCHAR(32) COLLATE "C" PRIMARY KEY,
		value BIGINT NOT NULL)`,
	`INSERT INTO id_state (name, value) VALUES ('revision', 0), ('floor', 0) ON CONFLICT DO NOTHING`,
}
