// SPDX-License-Identifier: Apache-2.0

package sqlstore

import "context"

// Conn executes statements, in which ? stands for an argument. An argument is an
// int64, a string, a time.Time in UTC, or nil.
type Conn interface {
	// Exec returns how many rows a statement found, or inserted: 0 for an
	// insertion of a row whose key exists already.
	Exec(ctx context.Context, statement string, args ...any) (rows int64, err error)
	// Number is Exec for a statement that changes a row and makes a number, by
	// RETURNING or LAST_INSERT_ID.
	Number(ctx context.Context, statement string, args ...any) (n, rows int64, err error)
	// Query calls row for each row of the result.
	Query(ctx context.Context, row func(scan func(into ...any) error) error, statement string, args ...any) error
}

// Server is a pool of connections to a database.
type Server interface {
	Conn
	// Transact calls fn in a transaction of the level READ COMMITTED, and commits
	// unless fn returns an error.
	Transact(ctx context.Context, fn func(Conn) error) error
	// Lock calls fn with a connection that holds the lock of migrations, which
	// ends with the connection.
	Lock(ctx context.Context, fn func(Conn) error) error
	// Check reports why the server cannot be used, or should not.
	Check(ctx context.Context) error
	// Classify returns the class of an error.
	Classify(err error) Class
	// Reset replaces idle connections, for example to a server that is now a replica.
	Reset()
	Close() error
}

// Class is the meaning of an error.
type Class int

// Classes of errors.
const (
	Other     Class = iota
	Transient       // nothing has happened, by a deadlock for example: try again
	ReadOnly        // the server does not write
	NoTable         // a table is missing
)

// Guard is the condition by which a statement finds no row once a newer program has migrated
// the schema. Its argument, the last of a statement's conditions, is the number of migrations that
// this program knows.
const Guard = "NOT EXISTS (SELECT 1 FROM schema_versions WHERE version > ?)"

// Dialect has the differences between the languages of servers.
type Dialect struct {
	// Name is the package's, for errors.
	Name string
	// Migrations lead from each version of the schema to the next, from 0.
	Migrations []Migration
	// Columns are those that the tables must have, each "table column type", with
	// alternatives of the type separated by |.
	Columns []string
	// Schema is an expression for the schema that has the table schema_versions.
	Schema string
	// Create inserts a document of (kind, key, value, expiry) with the version
	// floor + 1, which is its number, under the [Guard]. It holds a shared lock on the floor.
	Create string
	// Advance raises the revision, which is its number, under the [Guard].
	Advance string
	// Reserve is for servers that can return the result of an UPDATE; "" for others. Its
	// arguments are distance, name, lowest and highest, and that of the [Guard]: it moves the
	// sequence by the distance if its value is in that range, and returns the new value and version.
	Reserve string
}

// Migration is one version of the schema. Its statements can be repeated: servers
// without transactions around them may stop in the middle. Programs that do not know the version
// go on writing until it is entered, after the last statement, and then neither write nor read. So a
// migration that changes what they have written is two: a version without statements stops
// them, the next one changes the rows.
type Migration struct {
	Description string
	Statements  []string
}
