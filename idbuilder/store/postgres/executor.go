// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

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
