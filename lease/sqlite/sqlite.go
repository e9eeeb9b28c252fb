// SPDX-License-Identifier: Apache-2.0

// Package sqlite leases machine ids from a SQLite file: for the processes of one
// machine, or for a lease server. For a new file set [lease.Options.Fresh] for the
// first start: otherwise nothing is granted for eleven minutes, because a new file
// looks like one in the place of a lost one.
//
//	store, err := sqlite.Open("/var/lib/kazahana/leases.db", sqlite.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	provider, err := lease.NewServer(store, lease.Options{}) // for the first start: lease.Options{Fresh: true}
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: provider})
//
// Any number of processes may open the file. SQLite keeps a write-ahead log next to
// it, and the file must lie on a local file system. The driver needs no cgo.
//
// Open creates a missing file. A service that is not in the file begins in
// quarantine, since the file may have been lost; if it was not,
// [lease.Server.EndQuarantine] ends that. After a file was restored from a backup, call
// [lease.Server.Quarantine], because it lacks the leases that were granted since.
//
// Everything in this package is safe for concurrent use.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/lease"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
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

	// ErrNotLeases says that the file is a database of something else, or, if the error is a
	// [lease.ErrNewer], of a newer version of this package.
	ErrNotLeases = errors.New("sqlite: the file holds no leases that this version knows")

	// ErrReplaced says that the file was removed or replaced while this process
	// had it open. Other processes do not see leases that are granted from the old
	// one. Open the new one.
	ErrReplaced = errors.New("sqlite: the file is no longer the one that was opened")
)

// applicationID marks the files of this package ("kzhn"), version their format.
const (
	applicationID = 0x6b7a686e
	version       = 1
)

var _ lease.Store = (*Store)(nil)

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
	options.BusyTimeout = cmp.Or(options.BusyTimeout, 10*time.Second)
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

// Services implements [lease.Store].
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
			return nil, wrapError(err)
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *tx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	rows, err := t.sql.QueryContext(ctx,
		"SELECT key, value FROM leases WHERE service = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?", t.service, begin, end, limit)
	if err != nil {
		return nil, wrapError(err)
	}
	defer func() { _ = rows.Close() }()
	var pairs []lease.Pair
	for rows.Next() {
		var pair lease.Pair
		if err := rows.Scan(&pair.Key, &pair.Value); err != nil {
			return nil, wrapError(err)
		}
		pairs = append(pairs, pair)
	}
	return pairs, wrapError(rows.Err())
}

// Incarnation implements [lease.Tx]: the file forgets nothing that it has acknowledged.
func (t *tx) Incarnation() string { return "" }

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

// creating is held while a file is created: until it is closed, no Store of this process opens it.
var creating sync.Mutex

// makePrivate creates the file for its owner alone if it is not there, and takes
// from everybody else what they may do with an older one and with those that
// SQLite keeps next to it. SQLite gives new files next to it the same mode.
//
// It does not open a file that is there: POSIX drops all locks that a process has on a file
// when the process closes any descriptor of it. Another [Store] of this process would lose
// its own, and a program that closes the file would delete the log that the Store writes.
func makePrivate(path string) error {
	if err := createMissing(path); err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		if err := tighten(name); err != nil {
			return fmt.Errorf("everybody may read the secrets of leases, and this process cannot change that (chmod o-rwx %s as its owner): %w", name, err)
		}
	}
	return nil
}

func createMissing(path string) error {
	creating.Lock()
	defer creating.Unlock()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// tighten makes a file that everybody may use one of its owner, or of its group
// if that may write: then the group shares it on purpose.
func tighten(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&0o007 == 0 || runtime.GOOS == "windows" {
		return nil
	}
	if err != nil {
		return err
	}
	mode := info.Mode().Perm() &^ 0o007
	if mode&0o020 == 0 {
		mode &^= 0o070
	}
	return os.Chmod(name, mode)
}
