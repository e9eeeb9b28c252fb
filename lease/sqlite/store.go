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

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/lease"
)

// Services implements [lease.Enumerator].
func (s *Store) Services(ctx context.Context, after string, limit int) (ids []string, err error) {
	err = s.waitBusy(ctx, func() (err error) {
		ids, err = s.listServices(ctx, after, limit)
		return err
	})
	return ids, err
}

func (s *Store) listServices(ctx context.Context, after string, limit int) (ids []string, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT DISTINCT service FROM leases WHERE service > ? ORDER BY service LIMIT ?", after, limit)
	if err != nil {
		return nil, wrapError(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, wrapError(err)
		}
		ids = append(ids, id)
	}
	return ids, wrapError(rows.Err())
}

var (
	_ lease.Store      = (*Store)(nil)
	_ lease.Enumerator = (*Store)(nil)
)

// Store is a [lease.Store] in a SQLite file. Any number of processes of one
// machine may have it open; their transactions run one after the other.
type Store struct {
	db   *sql.DB
	busy time.Duration // see Options.BusyTimeout
	now  func() time.Time
	path string
	file os.FileInfo // of path when it was opened
}

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
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db.SetMaxOpenConns(1) // transactions queue here, in order, rather than at the file's lock
	s := &Store{db: db, busy: options.BusyTimeout, now: options.Now, path: path}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), db.Close())
	}
	return s, nil
}

// prepare creates the table in a new file, and remembers which file it is.
func (s *Store) prepare() error {
	ctx := context.Background()
	if err := s.waitBusy(ctx, func() error { return s.createOnce(ctx) }); err != nil {
		return err
	}
	var err error
	s.file, err = os.Stat(s.path)
	return err
}

// checkFile returns an error if the path names another file by now.
func (s *Store) checkFile() error {
	file, err := os.Stat(s.path)
	if err != nil || !os.SameFile(file, s.file) {
		return errors.Join(fmt.Errorf("%w: %s", ErrReplaced, s.path), err)
	}
	return nil
}

// dataSource returns the URI that opens path, which is absolute, with the right
// modes: a write-ahead log that is synced by every commit, and transactions that
// take the write lock when they begin, or are told at once that it is taken: see waitBusy.
func dataSource(path string) string {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(0)", "journal_mode(wal)", "synchronous(full)"}}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

// waitBusy calls do until it is not told that the file is locked, for as long as
// [Options.BusyTimeout] and ctx allow. SQLite's own wait takes no notice of a context, and
// does not wait while another process turns the journal of a new file into a write-ahead
// log.
func (s *Store) waitBusy(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(s.busy)
	for {
		err := do()
		if !errors.Is(err, ErrBusy) || time.Now().After(deadline) {
			return err
		}
		if ended := sleep.For(ctx, time.Duration(1+rand.IntN(10))*time.Millisecond); ended != nil {
			return fmt.Errorf("%w: %w", err, ended)
		}
	}
}

// createOnce makes the table in an empty file, and refuses files of others.
func (s *Store) createOnce(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return wrapError(err)
	}
	defer func() { _ = tx.Rollback() }()
	var id, have, tables int
	if err := errors.Join(
		tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id),
		tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have),
		tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables),
	); err != nil {
		return wrapError(err)
	}
	if id == applicationID && have == version {
		return nil
	}
	if id == applicationID && have > version {
		return newerError(have)
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
			return wrapError(err)
		}
	}
	return wrapError(tx.Commit())
}

// Close closes the file. Transactions under way end with an error.
func (s *Store) Close() error { return s.db.Close() }

// Update implements [lease.Store]. fn runs once.
func (s *Store) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	var dbTx *sql.Tx
	err := s.waitBusy(ctx, func() (err error) {
		dbTx, err = s.db.BeginTx(ctx, nil)
		return wrapError(err)
	})
	if err != nil {
		return err
	}
	defer func() { _ = dbTx.Rollback() }()
	if err := checkVersion(ctx, dbTx); err != nil {
		return err
	}
	t := &tx{ctx: ctx, sql: dbTx, service: service, now: s.now()}
	if err := fn(t); err != nil {
		return err
	}
	if t.err != nil {
		return wrapError(t.err)
	}
	if err := s.checkFile(); err != nil {
		return err
	}
	return wrapError(dbTx.Commit())
}

// checkVersion returns an error if a newer version of this package has migrated the file since it
// was opened. The transaction has the lock, so none does so before it ends.
func checkVersion(ctx context.Context, tx *sql.Tx) error {
	var have int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return wrapError(err)
	}
	if have > version {
		return newerError(have)
	}
	return nil
}

func newerError(have int) error {
	return fmt.Errorf("%w: %w", ErrNotLeases, newer.Format(int64(have), version, ""))
}

// wrapError names the package, and turns SQLite's code for a lock that it did not get into
// ErrBusy.
func wrapError(err error) error {
	if err == nil {
		return nil
	}
	var coded *sqlite.Error
	if errors.As(err, &coded) && coded.Code()&0xff == sqlite3.SQLITE_BUSY {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return fmt.Errorf("sqlite: %w", err)
}
