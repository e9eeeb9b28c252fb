// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqltest"
	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/internal/servers"
)

func TestHome(t *testing.T) {
	sqltest.Run(t, sqltest.Home{
		Shared:  servers.Postgres,
		Durable: func(tb testing.TB) *servers.SQL { return servers.StartPostgres(tb, "-c", "fsync=on") },
		NewURL:  func(t *testing.T, server *servers.SQL) string { return server.NewSchema(t) },
		Open: func(t *testing.T, url string, o sqltest.Options) store.Store {
			return openWith(t, postgres.Options{URL: url, CallTimeout: o.CallTimeout, AcceptLoss: !o.Strict, MaxConnections: 5})
		},
		Execute: func(t *testing.T, url, statement string) { execute(t, url, statement) },
		Rows:    rows,
		HoldInsertions: []string{
			`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN PERFORM pg_advisory_lock_shared(7); PERFORM pg_advisory_unlock_shared(7); RETURN NEW; END'`,
			"CREATE TRIGGER hold BEFORE INSERT ON id_documents FOR EACH ROW EXECUTE FUNCTION hold()",
		},
		FreeInsertions: "DROP TRIGGER hold ON id_documents",
		Hold:           func(t *testing.T, url string) func() { return hold(t, url, 7) },
		HoldMigrations: func(t *testing.T, url string) func() { return hold(t, url, 0x69646275696c6465) },
		Schema:         "current_schema()",
		Example:        "idbuilder/postgres",
		Migrations:     postgres.Migrations,
	})
}

// hold takes an advisory lock.
func hold(t *testing.T, url string, number int64) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	check(t, err)
	_, err = conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", number)
	check(t, err)
	return func() { check(t, conn.Close(t.Context())) }
}

// rows returns the rows of a query, their columns joined by spaces.
func rows(t *testing.T, url, query string) (lines []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	check(t, err)
	defer func() { check(t, conn.Close(t.Context())) }()
	found, err := conn.Query(t.Context(), query)
	check(t, err)
	for found.Next() {
		values, err := found.Values()
		check(t, err)
		lines = append(lines, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}
	check(t, found.Err())
	return lines
}

// TestTables compares the tables with the specification.
func TestTables(t *testing.T) {
	url := servers.Postgres(t).NewDatabase(t)
	check(t, open(t, url).Init(t.Context()))
	sqltest.CheckColumns(t, rows(t, url, `SELECT table_name::text, column_name::text,
		data_type || COALESCE('(' || character_maximum_length || ')', ''), is_nullable::text, COALESCE(column_default, '-')
		FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT IN ('id_documents', 'id_state')`), `
		id_sequences id bigint NO nextval('id_sequences_id_seq'::regclass)
		id_sequences key_name character varying(255) NO -
		id_sequences current_value bigint NO 0
		id_sequences version bigint NO 0
		id_sequences created_at timestamp with time zone NO now()
		id_sequences updated_at timestamp with time zone NO now()
		id_configs id bigint NO nextval('id_configs_id_seq'::regclass)
		id_configs key_name character varying(255) NO -
		id_configs id_type character varying(50) NO -
		id_configs config_json jsonb NO -
		id_configs created_at timestamp with time zone NO now()
		id_configs updated_at timestamp with time zone NO now()
		distributed_locks lock_key character varying(255) NO -
		distributed_locks owner_id character varying(255) NO -
		distributed_locks expires_at timestamp with time zone NO -
		distributed_locks created_at timestamp with time zone NO now()
		schema_versions id integer NO nextval('schema_versions_id_seq'::regclass)
		schema_versions version integer NO -
		schema_versions applied_at timestamp with time zone NO now()
		schema_versions description character varying(500) YES -`)
	sqltest.CheckColumns(t, rows(t, url, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT IN ('id_documents', 'id_state')"), `
		CREATE UNIQUE INDEX id_sequences_pkey ON public.id_sequences USING btree (id)
		CREATE UNIQUE INDEX idx_key_name ON public.id_sequences USING btree (key_name)
		CREATE UNIQUE INDEX id_configs_pkey ON public.id_configs USING btree (id)
		CREATE UNIQUE INDEX idx_configs_key ON public.id_configs USING btree (key_name)
		CREATE UNIQUE INDEX distributed_locks_pkey ON public.distributed_locks USING btree (lock_key)
		CREATE UNIQUE INDEX schema_versions_pkey ON public.schema_versions USING btree (id)
		CREATE UNIQUE INDEX idx_version ON public.schema_versions USING btree (version)`)
}

// TestSynchronousCommit checks that sessions wait for the disk, whatever the
// database's setting, unless it asks for more.
func TestSynchronousCommit(t *testing.T) {
	for set, want := range map[string]string{"off": "on", "local": "on", "on": "on", "remote_apply": "remote_apply"} {
		url := servers.Postgres(t).NewSchema(t)
		s := open(t, url+"&synchronous_commit="+set)
		check(t, s.Init(t.Context()))
		execute(t, url, "CREATE TABLE seen (setting TEXT)")
		execute(t, url, "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen VALUES (current_setting(''synchronous_commit'')); RETURN NEW; END'")
		execute(t, url, "CREATE TRIGGER look AFTER INSERT ON id_sequences FOR EACH ROW EXECUTE FUNCTION look()")
		_, err := s.Reserve(t.Context(), "orders", store.Reservation{Step: 1, Count: 1, Bound: 9})
		check(t, err)
		if got := rows(t, url, "SELECT setting FROM seen"); len(got) != 1 || got[0] != want {
			t.Errorf("synchronous_commit %s: sessions have %q, want %s", set, got, want)
		}
	}
}

// TestEncoding checks that a database which cannot keep all keys is refused.
func TestEncoding(t *testing.T) {
	server := servers.Postgres(t)
	server.Execute(t, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
	t.Cleanup(func() { server.Execute(t, "DROP DATABASE latin WITH (FORCE)") })
	err := open(t, server.URL("postgres", "", "latin")).Init(t.Context())
	if err == nil || !strings.Contains(err.Error(), "LATIN1, it must be UTF8") {
		t.Errorf("a database with another encoding: %v", err)
	}
}

// TestJSON checks values that jsonb refuses: the error says so, and nothing is stored.
func TestJSON(t *testing.T) {
	s := open(t, servers.Postgres(t).NewSchema(t))
	check(t, s.Init(t.Context()))
	zero := []byte(`{"text":"\u0000"}`)
	if _, err := s.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: zero}); err == nil || !strings.Contains(err.Error(), `\u0000`) {
		t.Errorf("a text with the character 0: %v", err)
	}
	version, err := s.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: []byte(`{}`)})
	if err != nil || version < 1 {
		t.Errorf("after a refused value: %d, %v", version, err)
	}
	_, err = s.Put(t.Context(), store.Replies, store.Document{Key: "a", Value: zero})
	check(t, err)
	d, err := s.Get(t.Context(), store.Replies, "a")
	if err != nil || string(d.Value) != string(zero) {
		t.Errorf("a reply has the value %s, %v, want %s", d.Value, err, zero)
	}
}
