// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

// Store is a [store.Store] on a [Server].
type Store struct {
	server  Server
	dialect Dialect
	limits  Limits
	busy    names
	closed  atomic.Bool
	puts    atomic.Uint64 // of documents that expire
}

var _ store.Store = (*Store)(nil)

// New returns a store. It closes the server at its end.
func New(server Server, dialect Dialect, limits Limits) *Store {
	return &Store{server: server, dialect: dialect, limits: limits}
}

// Ping implements [store.Store]. The statement finds no row, but needs the same rights
// and connections as one that does.
func (s *Store) Ping(ctx context.Context) error {
	_, err := do(ctx, s, "ping", func(ctx context.Context) (int, error) {
		if _, err := s.server.Exec(ctx, "UPDATE id_state SET value = value WHERE name = '' AND "+Guard, s.newest()); err != nil {
			return 0, err
		}
		return s.version(ctx, s.server)
	})
	return err
}

// Revision implements [store.Store].
func (s *Store) Revision(ctx context.Context) (int64, error) {
	return do(ctx, s, "revision", func(ctx context.Context) (n int64, err error) {
		n, found, err := number(ctx, s.server, "SELECT value FROM id_state WHERE name = 'revision' AND "+Guard, s.newest())
		if err == nil && !found {
			err = s.explainNone(ctx, s.server, missing("revision"))
		}
		return n, err
	})
}

// Advance implements [store.Store].
func (s *Store) Advance(ctx context.Context) (int64, error) {
	return do(ctx, s, "advance", func(ctx context.Context) (int64, error) {
		n, rows, err := s.server.Number(ctx, s.dialect.Advance, s.newest())
		if err == nil && rows == 0 {
			err = s.explainNone(ctx, s.server, missing("revision"))
		}
		return n, err
	})
}

// Close implements [store.Store].
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.server.Close()
}

// newest is the argument of the [Guard].
func (s *Store) newest() int64 { return int64(len(s.dialect.Migrations)) }

// explainNone returns why a statement under the [Guard] has found no row: a [store.ErrNewer]
// if a newer program has migrated the schema, otherwise err.
func (s *Store) explainNone(ctx context.Context, c Conn, err error) error {
	if _, newer := s.version(ctx, c); newer != nil {
		return newer
	}
	return err
}

// missing is the error for a missing row that the migration has made.
func missing(name string) error {
	return &store.CorruptError{Where: "table id_state", Reason: fmt.Sprintf("the row %q is missing: restore it from a backup", name)}
}

// number returns the number that a query finds.
func number(ctx context.Context, c Conn, query string, args ...any) (n int64, found bool, err error) {
	err = c.Query(ctx, func(scan func(...any) error) error {
		found = true
		return scan(&n)
	}, query, args...)
	return n, found, err
}

// attempts bounds how often a call is repeated if its transactions end in deadlocks.
const attempts = 12

// do makes a call, and repeats it if the server has rolled it back.
func do[T any](ctx context.Context, s *Store, what string, fn func(context.Context) (T, error)) (T, error) {
	return within(ctx, s, what, s.limits.Call, fn)
}

func within[T any](ctx context.Context, s *Store, what string, limit time.Duration, fn func(context.Context) (T, error)) (T, error) {
	var none T
	if s.closed.Load() {
		return none, store.ErrClosed
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := retry(limited, s, fn)
	if err != nil {
		return none, s.explainError(ctx, what, limit, err)
	}
	return result, nil
}

func retry[T any](ctx context.Context, s *Store, fn func(context.Context) (T, error)) (result T, err error) {
	for attempt := 0; ; attempt++ {
		if err = ctx.Err(); err != nil {
			return result, err
		}
		if result, err = fn(ctx); err == nil || attempt == attempts || s.server.Classify(err) != Transient {
			return result, err
		}
		if ended := backoff(ctx, attempt); ended != nil {
			return result, errors.Join(ended, err)
		}
	}
}

// backoff waits for a random part of a time that doubles with each attempt.
func backoff(ctx context.Context, attempt int) error {
	_ = sleep.For(ctx, rand.N(time.Millisecond<<min(attempt, 7)))
	return ctx.Err()
}

// explainError adds the name of the call to an error, and the sentinel of package store
// if there is one.
func (s *Store) explainError(ctx context.Context, what string, limit time.Duration, err error) error {
	switch class := s.server.Classify(err); {
	case s.closed.Load():
		err = fmt.Errorf("%w: %w", store.ErrClosed, err)
	case class == ReadOnly:
		s.server.Reset()
		err = fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case class == NoTable:
		err = fmt.Errorf("%w: %w", store.ErrNoSchema, err)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		err = fmt.Errorf("no answer within %v: %w", limit, err)
	}
	return fmt.Errorf("%s: %s: %w", s.dialect.Name, what, err)
}

// Init implements [store.Store].
func (s *Store) Init(ctx context.Context) error {
	_, err := within(ctx, s, "init", s.limits.Init, func(ctx context.Context) (none struct{}, err error) {
		return none, s.init(ctx)
	})
	return err
}

func (s *Store) init(ctx context.Context) error {
	if err := s.server.Check(ctx); err != nil {
		return err
	}
	version, err := s.version(ctx, s.server)
	if err != nil {
		return err
	}
	if version < len(s.dialect.Migrations) {
		if err := s.server.Lock(ctx, func(c Conn) error { return s.migrate(ctx, c) }); err != nil {
			return err
		}
	}
	if err := s.checkColumns(ctx); err != nil {
		return err
	}
	return s.adoptForeign(ctx)
}

// version returns the version of the schema, 0 if there is none.
func (s *Store) version(ctx context.Context, c Conn) (int, error) {
	n, _, err := number(ctx, c, "SELECT COALESCE(MAX(version), 0) FROM schema_versions")
	switch {
	case err != nil && s.server.Classify(err) == NoTable:
		return 0, nil
	case err == nil && n > int64(len(s.dialect.Migrations)):
		err = store.NewerSchema(int(n), len(s.dialect.Migrations))
	}
	return int(n), err
}

// migrate applies the migrations that are missing. The caller holds the lock.
func (s *Store) migrate(ctx context.Context, c Conn) error {
	version, err := s.version(ctx, c)
	if err != nil || version == len(s.dialect.Migrations) {
		return err
	}
	if version > 0 { // otherwise there is no table to enter it in
		if err := enter(ctx, c); err != nil {
			return err
		}
	}
	for ; version < len(s.dialect.Migrations); version++ {
		if err := s.applyMigration(ctx, c, version); err != nil {
			return fmt.Errorf("migration to version %d: %w", version+1, err)
		}
	}
	_, err = c.Exec(ctx, "DELETE FROM distributed_locks WHERE lock_key = 'schema'")
	return err
}

// applyMigration makes a migration, and remembers it.
func (s *Store) applyMigration(ctx context.Context, c Conn, version int) error {
	m := s.dialect.Migrations[version]
	for _, statement := range m.Statements {
		if _, err := c.Exec(ctx, statement); err != nil {
			return err
		}
		if strings.Contains(statement, "TABLE IF NOT EXISTS distributed_locks") {
			if err := enter(ctx, c); err != nil {
				return err
			}
		}
	}
	_, err := c.Exec(ctx, "INSERT INTO schema_versions (version, description) VALUES (?, ?)", int64(version+1), m.Description)
	return err
}

// enter shows operators that this process migrates. The row locks nothing. An expired
// row, of a process that has ended, is replaced.
func enter(ctx context.Context, c Conn) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	owner := fmt.Sprintf("%.200s:%d", host, os.Getpid())
	if _, err := c.Exec(ctx, "DELETE FROM distributed_locks WHERE lock_key = 'schema'"); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "INSERT INTO distributed_locks (lock_key, owner_id, expires_at) VALUES ('schema', ?, CURRENT_TIMESTAMP + INTERVAL '10' MINUTE)", owner)
	return err
}

// checkColumns reports a table of another program that has the name of one of this
// program's.
func (s *Store) checkColumns(ctx context.Context) error {
	found := map[string]string{}
	err := s.server.Query(ctx, func(scan func(...any) error) error {
		var table, column, kind string
		err := scan(&table, &column, &kind)
		found[table+" "+column] = strings.ToLower(kind)
		return err
	}, "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = "+s.dialect.Schema)
	if err != nil {
		return err
	}
	for _, column := range s.dialect.Columns {
		words := strings.SplitN(column, " ", 3)
		kind := found[words[0]+" "+words[1]]
		if !slices.Contains(strings.Split(words[2], "|"), kind) {
			return &store.CorruptError{
				Where:  fmt.Sprintf("table %s, column %s", words[0], words[1]),
				Reason: fmt.Sprintf("its type is %q, not %s: the table is not this program's; give the ID service a database of its own", kind, words[2]),
			}
		}
	}
	return nil
}
