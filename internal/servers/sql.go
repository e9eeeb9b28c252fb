// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// SQL is a server that has databases.
type SQL struct {
	*Server
	// User is the user with all rights, without a password.
	User string

	scheme, parameters string
	execute            func(ctx context.Context, url, statement string) error
	databases          atomic.Int64
}

// NewDatabase makes an empty database, which goes when the test ends, and
// returns its URL.
func (s *SQL) NewDatabase(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	s.Execute(tb, "CREATE DATABASE "+name)
	tb.Cleanup(func() { s.dropDatabase(name) })
	return s.URL(s.User, "", name)
}

// NewSchema makes an empty schema in a database of PostgreSQL that tests share,
// and returns a URL for sessions that use it. A database takes 500 times as long.
func (s *SQL) NewSchema(tb testing.TB) string {
	tb.Helper()
	if s.scheme != "postgres" {
		tb.Fatal("servers: only PostgreSQL has schemas; use NewDatabase")
	}
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	s.Execute(tb, "CREATE SCHEMA "+name)
	tb.Cleanup(func() { s.executeQuietly("DROP SCHEMA " + name + " CASCADE") })
	return s.URL(s.User, "", s.systemDatabase()) + "&search_path=" + name
}

// URL returns the address of a database for a user.
func (s *SQL) URL(user, password, database string) string {
	if password != "" {
		user += ":" + password
	}
	return fmt.Sprintf("%s://%s@%s/%s%s", s.scheme, user, s.Addr, database, s.parameters)
}

// Execute executes a statement as the user with all rights, even after the end of
// the test.
func (s *SQL) Execute(tb testing.TB, statement string) {
	tb.Helper()
	if err := s.execute(context.WithoutCancel(tb.Context()), s.URL(s.User, "", s.systemDatabase()), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// systemDatabase is a database that each server has.
func (s *SQL) systemDatabase() string {
	return map[string]string{"postgres": "postgres", "mysql": "mysql"}[s.scheme]
}

// dropDatabase removes a database.
func (s *SQL) dropDatabase(name string) {
	statement := "DROP DATABASE " + name
	if s.scheme == "postgres" {
		statement += " WITH (FORCE)"
	}
	s.executeQuietly(statement)
}

// executeQuietly executes a statement if that is possible at once: the server may be down,
// or the test may have left a transaction open.
func (s *SQL) executeQuietly(statement string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = s.execute(ctx, s.URL(s.User, "", s.systemDatabase()), statement)
}
