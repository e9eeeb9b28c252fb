// SPDX-License-Identifier: Apache-2.0

package mysql_test

import (
	"database/sql"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqltest"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/internal/servers"
)

func TestHome(t *testing.T) {
	sqltest.Run(t, sqltest.Home{
		Shared: servers.MariaDB,
		Durable: func(tb testing.TB) *servers.SQL {
			return servers.StartMariaDB(tb, "--innodb-flush-log-at-trx-commit=1")
		},
		NewURL: newDatabase,
		Open: func(t *testing.T, url string, o sqltest.Options) store.Store {
			return openWith(t, mysql.Options{URL: url, CallTimeout: o.CallTimeout, AcceptLoss: !o.Strict, MaxConnections: 5})
		},
		Execute: func(t *testing.T, url, statement string) {
			_, err := root(t, url).ExecContext(t.Context(), statement)
			check(t, err)
		},
		Rows:           rows,
		HoldInsertions: []string{"CREATE TRIGGER hold BEFORE INSERT ON id_documents FOR EACH ROW SET @held = GET_LOCK('hold', 60) + RELEASE_LOCK('hold')"},
		FreeInsertions: "DROP TRIGGER hold",
		Hold:           func(t *testing.T, url string) func() { return hold(t, url, "'hold'") },
		HoldMigrations: func(t *testing.T, url string) func() { return hold(t, url, "CONCAT('idbuilder.', SHA1(DATABASE()))") },
		Schema:         "DATABASE()",
		Example:        "idbuilder/mysql",
		Migrations:     mysql.Migrations,
	})
}

// hold takes a lock of a name.
func hold(t *testing.T, url, name string) (release func()) {
	t.Helper()
	conn, err := root(t, url).Conn(t.Context())
	check(t, err)
	_, err = conn.ExecContext(t.Context(), "DO GET_LOCK("+name+", 60)")
	check(t, err)
	return func() {
		_, err := conn.ExecContext(t.Context(), "DO RELEASE_LOCK("+name+")")
		check(t, err)
		check(t, conn.Close())
	}
}

// root opens a database of the shared server as the user with all rights.
func root(t *testing.T, url string) *sql.DB {
	t.Helper()
	config := driver.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "tcp", servers.MariaDB(t).Addr, database(url)
	connector, err := driver.NewConnector(config)
	check(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

// rows returns the rows of a query, their columns joined by spaces.
func rows(t *testing.T, url, query string) (lines []string) {
	t.Helper()
	db := root(t, url)
	defer func() { check(t, db.Close()) }()
	found, err := db.QueryContext(t.Context(), query)
	check(t, err)
	defer func() { check(t, found.Close()) }()
	columns, err := found.Columns()
	check(t, err)
	for found.Next() {
		values, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		check(t, found.Scan(into...))
		lines = append(lines, strings.Join(values, " "))
	}
	check(t, found.Err())
	return lines
}

// TestTables compares the tables with the specification. The type JSON is
// LONGTEXT in MariaDB.
func TestTables(t *testing.T) {
	url := newDatabase(t, servers.MariaDB(t))
	check(t, open(t, url).Init(t.Context()))
	sqltest.CheckColumns(t, rows(t, url, `SELECT table_name, column_name, SUBSTRING_INDEX(column_type, '(20)', 1), is_nullable, COALESCE(column_default, '-'), extra
		FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name NOT IN ('id_documents', 'id_state')`), `
		id_sequences id bigint NO - auto_increment
		id_sequences key_name varchar(255) NO -
		id_sequences current_value bigint NO 0
		id_sequences version bigint NO 0
		id_sequences created_at timestamp NO current_timestamp()
		id_sequences updated_at timestamp NO current_timestamp() on update current_timestamp()
		id_configs id bigint NO - auto_increment
		id_configs key_name varchar(255) NO -
		id_configs id_type varchar(50) NO -
		id_configs config_json longtext NO -
		id_configs created_at timestamp NO current_timestamp()
		id_configs updated_at timestamp NO current_timestamp() on update current_timestamp()
		distributed_locks lock_key varchar(255) NO -
		distributed_locks owner_id varchar(255) NO -
		distributed_locks expires_at timestamp NO -
		distributed_locks created_at timestamp NO current_timestamp()
		schema_versions id int(11) NO - auto_increment
		schema_versions version int(11) NO -
		schema_versions applied_at timestamp NO current_timestamp()
		schema_versions description varchar(500) YES NULL`)
	sqltest.CheckColumns(t, rows(t, url, `SELECT table_name, index_name, non_unique, GROUP_CONCAT(column_name) FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND table_name NOT IN ('id_documents', 'id_state') GROUP BY 1, 2, 3`), `
		id_sequences PRIMARY 0 id
		id_sequences idx_key_name 0 key_name
		id_configs PRIMARY 0 id
		id_configs idx_configs_key 0 key_name
		distributed_locks PRIMARY 0 lock_key
		schema_versions PRIMARY 0 id
		schema_versions idx_version 0 version`)
	sqltest.CheckColumns(t, rows(t, url, "SELECT DISTINCT engine, table_collation FROM information_schema.tables WHERE table_schema = DATABASE()"), `
		InnoDB utf8mb4_nopad_bin`)
}

// TestBinaryLog checks that a binary log that the server does not sync is refused.
func TestBinaryLog(t *testing.T) {
	server := servers.StartMariaDB(t, "--innodb-flush-log-at-trx-commit=1", "--log-bin=log", "--server-id=1", "--sync-binlog=0")
	s := openWith(t, mysql.Options{URL: newDatabase(t, server)})
	if err := s.Init(t.Context()); err == nil || !strings.Contains(err.Error(), "sync_binlog is 0, it must be 1") {
		t.Errorf("a binary log that is not synced: %v", err)
	}
	server.Execute(t, "SET GLOBAL sync_binlog = 1")
	check(t, s.Init(t.Context()))
	_, err := s.Reserve(t.Context(), "orders", store.Reservation{Step: 1, Count: 1, Bound: 9})
	check(t, err)
}
