// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

// tx is a transaction that holds the write lock.
type tx struct {
	ctx     context.Context
	sql     *sql.Tx
	service string
	now     time.Time
	err     error // of the first write that failed
}

// Now implements [lease.Tx].
func (t *tx) Now() time.Time { return t.now }

// Get implements [lease.Tx].
func (t *tx) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		err := t.sql.QueryRowContext(ctx, "SELECT value FROM leases WHERE service = ? AND key = ?", t.service, key).Scan(&values[i])
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, wrapError(err)
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *tx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	rows, err := t.sql.QueryContext(ctx,
		"SELECT key, value FROM leases WHERE service = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?", t.service, begin, end, limit)
	if err != nil {
		return nil, wrapError(err)
	}
	defer func() { _ = rows.Close() }()
	var pairs []lease.Pair
	for rows.Next() {
		var pair lease.Pair
		if err := rows.Scan(&pair.Key, &pair.Value); err != nil {
			return nil, wrapError(err)
		}
		pairs = append(pairs, pair)
	}
	return pairs, wrapError(rows.Err())
}

// Set implements [lease.Tx].
func (t *tx) Set(key, value []byte) {
	t.exec("INSERT INTO leases (service, key, value) VALUES (?, ?, ?) ON CONFLICT (service, key) DO UPDATE SET value = excluded.value", t.service, key, value)
}

// Delete implements [lease.Tx].
func (t *tx) Delete(key []byte) {
	t.exec("DELETE FROM leases WHERE service = ? AND key = ?", t.service, key)
}

func (t *tx) exec(statement string, args ...any) {
	if t.err == nil {
		_, t.err = t.sql.ExecContext(t.ctx, statement, args...)
	}
}
