// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

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
