// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// workURL is the environment variable with the database of a process that the
// suite starts.
const workURL = "KAZAHANA_POSTGRES_WORK"

func TestMain(m *testing.M) {
	if url := os.Getenv(workURL); url != "" {
		if err := work(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func work(url string) error {
	s, err := postgres.Open(postgres.Options{URL: url})
	if err != nil {
		return err
	}
	return storetest.Work(context.Background(), s, os.Stdout)
}

// open opens a database of a server that syncs nothing.
func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	return openWith(t, postgres.Options{URL: url, AcceptLoss: true, MaxConnections: 5})
}

func openWith(t *testing.T, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(o)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// execute executes a statement without the store.
func execute(t *testing.T, url, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	check(t, err)
	defer func() { check(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), statement, args...)
	check(t, err)
}

// media are databases by the names of media.
type media struct {
	server *servers.SQL
	urls   map[string]string
}

func (m *media) url(t *testing.T, name string) string {
	t.Helper()
	if m.urls[name] == "" {
		m.urls[name] = m.server.NewSchema(t)
	}
	return m.urls[name]
}

func TestStore(t *testing.T) {
	m := &media{server: servers.Postgres(t), urls: map[string]string{}}
	storetest.Run(t, storetest.Suite{
		Open: func(t *testing.T, name string) store.Store { return open(t, m.url(t, name)) },
		Process: func(t *testing.T, name string) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), workURL+"="+m.url(t, name))
			return cmd
		},
		SetSchema: func(t *testing.T, name string, version int) {
			execute(t, m.url(t, name), "INSERT INTO schema_versions (version) VALUES ($1)", version)
		},
		SetReadOnly: func(t *testing.T, name string) func() {
			m.setReadOnly(t, m.url(t, name), "on")
			return func() { m.setReadOnly(t, m.url(t, name), "off") }
		},
	})
}

// setReadOnly makes all sessions read-only, as on a standby. It waits until a new session
// has the setting: the open sessions have it before that.
func (m *media) setReadOnly(t *testing.T, url, value string) {
	ctx := context.Background() // even after the test
	m.server.Execute(t, "ALTER SYSTEM SET default_transaction_read_only = "+value)
	m.server.Execute(t, "SELECT pg_reload_conf()")
	for now := ""; now != value; {
		conn, err := pgx.Connect(ctx, url)
		check(t, err)
		check(t, conn.QueryRow(ctx, "SHOW default_transaction_read_only").Scan(&now))
		check(t, conn.Close(ctx))
	}
}
