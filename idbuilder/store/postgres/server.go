// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
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
