// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Conn executes statements, in which ? stands for an argument. An argument is an
// int64, a string, a time.Time in UTC, or nil.
type Conn interface {
	// Exec returns how many rows a statement found, or inserted: 0 for an
	// insertion of a row with a key that exists already.
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

// Limits are what the options of all stores have in common. 0 stands for the default
// value.
type Limits struct {
	Connections int           // of this process to the server; 10 by default
	Connect     time.Duration // for how long an attempt to connect may take; 5 s by default
	Call        time.Duration // for how long a call may take; 10 s by default
	Init        time.Duration // for how long Init may take, with the time that it waits for others; 1 min by default
}

// WithDefaults returns the limits with the default values in place of zeros.
func (l Limits) WithDefaults() Limits {
	if l.Connections == 0 {
		l.Connections = 10
	}
	if l.Connect == 0 {
		l.Connect = 5 * time.Second
	}
	if l.Call == 0 {
		l.Call = 10 * time.Second
	}
	if l.Init == 0 {
		l.Init = time.Minute
	}
	return l
}

// Validate reports all limits that are out of range, by the names of the options of
// a package.
func (l Limits) Validate(pkg string) error {
	var faults []error
	if l.Connections < 0 || l.Connections > 10_000 {
		faults = append(faults, fmt.Errorf("%s: MaxConnections is %d, allowed are 1 to 10000, and 0 for 10", pkg, l.Connections))
	}
	for _, timeout := range []struct {
		name  string
		value time.Duration
	}{{"ConnectTimeout", l.Connect}, {"CallTimeout", l.Call}, {"InitTimeout", l.Init}} {
		if timeout.value < 0 {
			faults = append(faults, fmt.Errorf("%s: %s is %v, allowed are positive durations, and 0 for the default value", pkg, timeout.name, timeout.value))
		}
	}
	return errors.Join(faults...)
}

// names lets one goroutine of this process at a time change a sequence. The lock is for
// speed only: without it, one of many goroutines would win each round of comparisons.
// Against other processes the comparison of versions protects.
type names struct {
	mu   sync.Mutex
	busy map[string]*turn
}

// turn is the lock of one name, and the number of goroutines that have it or wait for it.
type turn struct {
	free  chan struct{} // has an element if no goroutine has the lock
	users int
}

// lock waits for the lock of a name. The caller calls unlock if there is no error.
func (n *names) lock(ctx context.Context, name string) (unlock func(), err error) {
	t := n.joinQueue(name)
	select {
	case <-t.free:
		return func() { t.free <- struct{}{}; n.leaveQueue(name, t) }, nil
	case <-ctx.Done():
		n.leaveQueue(name, t)
		return nil, ctx.Err()
	}
}

func (n *names) joinQueue(name string) *turn {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy == nil {
		n.busy = map[string]*turn{}
	}
	t := n.busy[name]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		n.busy[name] = t
	}
	t.users++
	return t
}

func (n *names) leaveQueue(name string, t *turn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(n.busy, name)
	}
}
