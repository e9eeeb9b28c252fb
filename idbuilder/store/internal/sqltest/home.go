// SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// Home is a home under test.
type Home struct {
	// Shared is a server that syncs nothing, and Durable starts one that does.
	Shared  func(testing.TB) *servers.SQL
	Durable func(testing.TB) *servers.SQL
	// NewURL makes an empty database.
	NewURL func(*testing.T, *servers.SQL) string
	// Open opens a database, and closes it when the test ends.
	Open func(t *testing.T, url string, o Options) store.Store
	// Execute executes a statement in the database, as a user with all rights.
	Execute func(t *testing.T, url, statement string)
	// Rows returns the rows of a query, their columns joined by spaces.
	Rows func(t *testing.T, url, query string) []string
	// HoldInsertions are statements that make each insertion into id_documents wait, after
	// it has read the floor, until the lock of Hold is free. FreeInsertions undoes that.
	HoldInsertions []string
	FreeInsertions string
	// Hold takes that lock until the function that it returns is called, and
	// HoldMigrations that of migrations.
	Hold, HoldMigrations func(t *testing.T, url string) (release func())
	// Schema is an expression for the schema that a session uses.
	Schema string
	// Example names the examples of what this home stores, and Migrations make its tables.
	Example    string
	Migrations []sqlstore.Migration
}

// Options of a store that a test opens.
type Options struct {
	CallTimeout time.Duration // 0: the home's default value
	Strict      bool          // Init refuses a server that may lose data
}

// Run runs the tests.
func Run(t *testing.T, h Home) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Home)
	}{
		{"crash", testCrash},
		{"cut", testCut},
		{"stalled client", testStalledClient},
		{"floor", testFloor},
		{"sweep", testSweep},
		{"by hand", testByHand},
		{"migration", testMigration},
		{"lock of migrations", testMigrationLock},
		{"foreign table", testForeignTable},
		{"durability", testDurability},
		{"formats", testFormats},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, h) })
	}
}

// newDatabase makes a database on the shared server, with the schema.
func (h Home) newDatabase(t *testing.T) (at string, s store.Store) {
	t.Helper()
	at = h.NewURL(t, h.Shared(t))
	s = h.Open(t, at, Options{})
	check(t, s.Init(t.Context()))
	return at, s
}

// proxyURL returns the URL of a database with the address of a proxy.
func proxyURL(t *testing.T, at string, p *servers.Proxy) string {
	t.Helper()
	u, err := url.Parse(at)
	check(t, err)
	u.Host = p.Addr
	return u.String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ten asks for ten numbers.
var ten = store.Reservation{Step: 1, Count: 10, Bound: math.MaxInt64}

// within returns a context that ends after some minutes, for tests that would hang.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// awaitHeld waits until an insertion waits for the lock.
func (h Home) awaitHeld(t *testing.T, at string) {
	t.Helper()
	for ctx := within(t); len(h.Rows(t, at, waiting[h.scheme(at)])) == 0; {
		check(t, ctx.Err())
	}
}

func (Home) scheme(at string) string {
	if at[0] == 'p' {
		return "postgres"
	}
	return "mysql"
}

// dump returns the statements that make the tables and their rows.
func (h Home) dump(t *testing.T, at string) string {
	t.Helper()
	var b strings.Builder
	for _, m := range h.Migrations {
		for _, statement := range m.Statements {
			if !strings.HasPrefix(statement, "INSERT") { // rows are listed below
				b.WriteString(strings.Join(strings.Fields(statement), " ") + "\n")
			}
		}
	}
	text, moment := "QUOTE(CONVERT(%s USING utf8mb4) COLLATE utf8mb4_bin)", "CONCAT('FROM_UNIXTIME(', UNIX_TIMESTAMP(%s), ')')"
	if h.scheme(at) == "postgres" {
		text, moment = "quote_nullable(%s)", "quote_nullable(to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00')"
	}
	for _, table := range []string{
		"schema_versions version description", "id_sequences key_name current_value version created_at updated_at",
		"id_configs key_name id_type config_json created_at updated_at", "id_documents kind doc_key version value expires_at created_at updated_at", "id_state name value",
	} {
		columns := strings.Fields(table)[1:]
		table = strings.Fields(table)[0]
		values := make([]string, len(columns))
		for i, column := range columns {
			values[i] = fmt.Sprintf(text, column)
			if strings.HasSuffix(column, "d_at") || column == "expires_at" && h.scheme(at) == "postgres" {
				values[i] = fmt.Sprintf(moment, column)
			}
		}
		query := fmt.Sprintf("SELECT CONCAT('INSERT INTO %s (%s) VALUES (', %s, ')') FROM %s ORDER BY 1", table, strings.Join(columns, ", "), strings.Join(values, ", ', ', "), table)
		for _, row := range h.Rows(t, at, query) {
			b.WriteString(row + "\n")
		}
	}
	return b.String()
}
