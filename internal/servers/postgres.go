// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

var sharedPostgres = sync.OnceValues(func() (*SQL, error) { return startPostgres(nil) })

// Postgres returns the PostgreSQL that this test binary shares: a test makes a
// database of its own. It syncs nothing to disk. Do not stop it.
func Postgres(tb testing.TB) *SQL {
	tb.Helper()
	return must(tb, sharedPostgres, postgresProgram, "postgresql", "postgresql")
}

// StartPostgres starts a PostgreSQL of the test's own, with further arguments
// for postgres, such as "-c", "fsync=on".
func StartPostgres(tb testing.TB, args ...string) *SQL {
	tb.Helper()
	s := must(tb, func() (*SQL, error) { return startPostgres(args) }, postgresProgram, "postgresql", "postgresql")
	killAtEnd(tb, s.Server)
	return s
}

func postgresProgram() (string, error) {
	return find([]string{"initdb"}, "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
}

func startPostgres(args []string) (*SQL, error) {
	initdb, err := postgresProgram()
	if err != nil {
		return nil, err
	}
	if resolved, err := filepath.EvalSymlinks(initdb); err == nil {
		initdb = resolved // the postgres of the same version lies next to it
	}
	account, err := lookUp("postgres")
	if err != nil {
		return nil, err
	}
	folder, err := newFolder("postgres", account)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	server, err := newServer(account, folder, kind{
		prepare: [][]string{{initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}},
		args: func(port int) []string {
			postgres := filepath.Join(filepath.Dir(initdb), "postgres")
			return append([]string{
				postgres, "-D", data, "-h", "127.0.0.1", "-p", fmt.Sprint(port), "-k", "", "-F",
				"-c", "max_connections=500", "-c", "timezone=UTC",
			}, args...)
		},
		check: func(ctx context.Context, addr string) error {
			return executePostgres(ctx, fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", addr), "SELECT 1")
		},
	})
	if err != nil {
		return nil, err
	}
	return &SQL{Server: server, User: "postgres", scheme: "postgres", parameters: "?sslmode=disable", execute: executePostgres}, nil
}

func executePostgres(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
