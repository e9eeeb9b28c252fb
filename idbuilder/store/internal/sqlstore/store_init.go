// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

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
		err = &store.SchemaError{Found: int(n), Supported: len(s.dialect.Migrations)}
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
