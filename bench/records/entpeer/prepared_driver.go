// SPDX-License-Identifier: Apache-2.0

package entpeer

import (
	"context"
	"database/sql"
	"sync"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// preparedDriver is ent's driver with statements that are prepared once; ent itself
// has every query parsed anew. Transactions go without.
type preparedDriver struct {
	*entsql.Driver                // of statements
	plain          dialect.Driver // of transactions
}

func newPreparedDriver(db *sql.DB) *preparedDriver {
	conn := entsql.Conn{ExecQuerier: &statements{db: db}}
	return &preparedDriver{entsql.NewDriver(dialect.SQLite, conn), entsql.OpenDB(dialect.SQLite, db)}
}

// Tx implements [dialect.Driver].
func (p *preparedDriver) Tx(ctx context.Context) (dialect.Tx, error) { return p.plain.Tx(ctx) }

// BeginTx begins a transaction with options.
func (p *preparedDriver) BeginTx(ctx context.Context, o *entsql.TxOptions) (dialect.Tx, error) {
	return p.plain.(*entsql.Driver).BeginTx(ctx, o)
}

// statements keeps prepared statements by their text.
type statements struct {
	db    *sql.DB
	known sync.Map // string to *sql.Stmt
}

func (s *statements) of(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := s.known.Load(query); ok {
		return st.(*sql.Stmt), nil
	}
	st, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if before, ok := s.known.LoadOrStore(query, st); ok {
		return before.(*sql.Stmt), st.Close()
	}
	return st, nil
}

// ExecContext implements [entsql.ExecQuerier].
func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := s.of(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

// QueryContext implements [entsql.ExecQuerier].
func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := s.of(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}
