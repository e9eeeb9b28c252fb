// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/kazahana-db/kazahana/lease"
)

// Options configure a [Store]. The zero value is right for most.
type Options struct {
	// BusyTimeout is how long a transaction waits for those of other processes;
	// 0 means 10 s. After that it fails with [ErrBusy].
	BusyTimeout time.Duration
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

var (
	// ErrBusy says that other processes kept the file locked for longer than
	// [Options.BusyTimeout]. Nothing was changed.
	ErrBusy = errors.New("sqlite: the leases are locked by another process")

	// ErrNotLeases says that the file is a database of something else, or of a
	// version of this package that is newer.
	ErrNotLeases = errors.New("sqlite: the file holds no leases that this version knows")

	// ErrReplaced says that the file was removed or replaced while this process
	// had it open. What it would grant from the old one nobody else would know
	// of. Open it anew.
	ErrReplaced = errors.New("sqlite: the file is no longer the one that was opened")
)

// applicationID marks the files of this package ("kzhn"), version their format.
const (
	applicationID = 0x6b7a686e
	version       = 1
)

// Store is a [lease.Store] in a SQLite file. Any number of processes of one
// machine may have it open; their transactions run one after the other.
type Store struct {
	db   *sql.DB
	now  func() time.Time
	path string
	file os.FileInfo // of path when it was opened
}

var _ lease.Store = (*Store)(nil)

// Open opens the file, and creates it if it is not there. It must lie on a local
// file system. Each commit is synced.
//
// The file holds the secrets of leases: it is created for its owner alone (0600),
// and one that everybody may read is made private to its owner, or to its group
// where that may write. An error says so if that is not possible.
func Open(path string, options Options) (*Store, error) {
	if options.BusyTimeout < 0 {
		return nil, fmt.Errorf("sqlite: the busy timeout is %v; it must not be negative", options.BusyTimeout)
	}
	if options.BusyTimeout == 0 {
		options.BusyTimeout = 10 * time.Second
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if err := makePrivate(path); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db, err := sql.Open("sqlite", dataSource(path, options.BusyTimeout))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db.SetMaxOpenConns(1) // transactions queue here, in order, rather than at the file's lock
	s := &Store{db: db, now: options.Now, path: path}
	if err := s.begin(options.BusyTimeout); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), db.Close())
	}
	return s, nil
}

// begin makes the file what it has to be, and remembers which one it is.
func (s *Store) begin(busy time.Duration) error {
	if err := s.create(busy); err != nil {
		return err
	}
	var err error
	s.file, err = os.Stat(s.path)
	return err
}

// check returns an error if the path names another file by now.
func (s *Store) check() error {
	file, err := os.Stat(s.path)
	if err != nil || !os.SameFile(file, s.file) {
		return errors.Join(fmt.Errorf("%w: %s", ErrReplaced, s.path), err)
	}
	return nil
}

// dataSource returns the URI that opens path, which is absolute, with the right
// modes: a write-ahead log that is synced by every commit, and transactions that
// take the write lock when they begin.
func dataSource(path string, busy time.Duration) string {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "journal_mode(wal)", "synchronous(full)",
	}}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

// create makes the table in an empty file, and refuses files of others. While
// one process turns the journal of a new file into a write-ahead log, others are
// told that it is locked, whatever the busy timeout.
func (s *Store) create(busy time.Duration) error {
	deadline := time.Now().Add(busy)
	for {
		err := s.createOnce(context.Background())
		if !errors.Is(err, ErrBusy) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Duration(1+rand.IntN(10)) * time.Millisecond)
	}
}

func (s *Store) createOnce(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = tx.Rollback() }()
	var id, have, tables int
	if err := errors.Join(
		tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id),
		tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have),
		tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables),
	); err != nil {
		return failure(err)
	}
	if id == applicationID && have == version {
		return nil
	}
	if id != 0 || have != 0 || tables != 0 {
		return fmt.Errorf("%w: application_id is %#x and user_version %d, want %#x and %d", ErrNotLeases, id, have, applicationID, version)
	}
	for _, statement := range []string{
		"CREATE TABLE leases (service TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (service, key)) STRICT, WITHOUT ROWID",
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", version),
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return failure(err)
		}
	}
	return failure(tx.Commit())
}

// Close closes the file. Transactions under way end with an error.
func (s *Store) Close() error { return s.db.Close() }

// Update implements [lease.Store]. fn runs once.
func (s *Store) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	dbTx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = dbTx.Rollback() }()
	t := &tx{ctx: ctx, sql: dbTx, service: service, now: s.now()}
	if err := fn(t); err != nil {
		return err
	}
	if t.err != nil {
		return failure(t.err)
	}
	if err := s.check(); err != nil {
		return err
	}
	return failure(dbTx.Commit())
}

// failure makes SQLite's code for a lock that was not had into ErrBusy.
func failure(err error) error {
	if err == nil {
		return nil
	}
	var coded *sqlite.Error
	if errors.As(err, &coded) && coded.Code()&0xff == sqlite3.SQLITE_BUSY {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return fmt.Errorf("sqlite: %w", err)
}

// tx is a transaction that holds the write lock.
type tx struct {
	ctx     context.Context
	sql     *sql.Tx
	service string
	now     time.Time
	err     error // of the first write that failed
}

// Now implements [lease.Tx].
func (t *tx) Now() time.Time { return t.now }

// Get implements [lease.Tx].
func (t *tx) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		err := t.sql.QueryRowContext(ctx, "SELECT value FROM leases WHERE service = ? AND key = ?", t.service, key).Scan(&values[i])
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, failure(err)
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *tx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	rows, err := t.sql.QueryContext(ctx,
		"SELECT key, value FROM leases WHERE service = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?", t.service, begin, end, limit)
	if err != nil {
		return nil, failure(err)
	}
	defer func() { _ = rows.Close() }()
	var pairs []lease.Pair
	for rows.Next() {
		var pair lease.Pair
		if err := rows.Scan(&pair.Key, &pair.Value); err != nil {
			return nil, failure(err)
		}
		pairs = append(pairs, pair)
	}
	return pairs, failure(rows.Err())
}

// Set implements [lease.Tx].
func (t *tx) Set(key, value []byte) {
	t.exec("INSERT INTO leases (service, key, value) VALUES (?, ?, ?) ON CONFLICT (service, key) DO UPDATE SET value = excluded.value", t.service, key, value)
}

// Delete implements [lease.Tx].
func (t *tx) Delete(key []byte) {
	t.exec("DELETE FROM leases WHERE service = ? AND key = ?", t.service, key)
}

func (t *tx) exec(statement string, args ...any) {
	if t.err == nil {
		_, t.err = t.sql.ExecContext(t.ctx, statement, args...)
	}
}
