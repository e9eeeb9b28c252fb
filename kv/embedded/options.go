// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// Options adjust a database. The zero value is what [Open] and [OpenMemory] use.
type Options struct {
	// Transactions are the defaults of the database's transactions.
	Transactions kv.TransactionDefaults

	// NoSync acknowledges commits before they are on the disk. The log is synced
	// every half second, and commits wait while it is. A crash of the process
	// loses none of them; a crash of the machine may lose the commits of the last
	// second: whole commits, and the newest only, so that what is left is what the
	// database was at some moment. For data that can be made again.
	NoSync bool

	// CacheSize is the memory, in bytes, for what was read from the disk lately:
	// half of it for blocks of the files, half for single keys and their values.
	// 0: 64 MB. It does not bound the memory for the commits of the last seconds.
	CacheSize int64

	// WindowSize is the memory, in bytes, for the commits of the last five
	// seconds. When half of it is in use, commits move to the disk before they are
	// old, as far as no open transaction can read what was before them. When all of
	// it is, further commits wait for that: for the disk, or for the oldest reader
	// to end or to become five seconds old. While a transaction is always open that
	// is as old as it may be, at most WindowSize in five seconds is written. A
	// write counts its key, its value, and 160 bytes; an atomic operation counts the value
	// that it makes, and the transaction fails with CodeTransactionTooLarge if those that
	// keep the value before them make more than 32 MB. The log on disk keeps about
	// WindowSize and 64 MB. Commits that wait may take as much again;
	// beyond that they fail with CodeCommitProxyMemoryLimitExceeded, and are retried.
	// 0: 256 MB. The least is 1 MB.
	WindowSize int64

	// ReadOnly opens a database that is there, for reading, and writes nothing: a
	// full disk, a backup, or a read-only file system can be read as they are.
	// Commits that write fail with [ErrReadOnly]. What a crash has left is read as
	// [Open] would find it; commits of a process that was killed are among it even
	// if they were not synced yet, and a loss of power could still take those.
	//
	// All commits that the base does not have yet are held in memory. The folder's
	// lock is taken, so that it has one owner as with Open, except where this process
	// cannot write its file LOCK: on a read-only file system, a full disk, or without the
	// right to. A folder that was never opened has the file only as long as it is open.
	ReadOnly bool

	// AllowOtherFiles lets Open begin a database in a folder that holds other files.
	// Without it Open refuses that with an error that wraps [fs.ErrExist]: the
	// name is mostly a mistake, and the database's files are hard to find among others.
	// A database that exists is opened whatever lies next to its files. Names that begin
	// with a dot do not count, nor does the folder lost+found.
	AllowOtherFiles bool

	// Tracer is told what transactions read, write and wait for. nil: nothing is
	// told, which costs nothing.
	Tracer *Tracer

	// FS is the file system that the database lives in. nil: the operating
	// system's. Tests use one that crashes or fails. The method Unwrap of one that
	// wraps the operating system's must return that, or the folder's lock does not
	// see through symbolic links.
	FS vfs.FS

	// The rest is for tests.
	window      int64                         // age, in versions, at which commits move to the base
	segmentSize int64                         // of the log
	flushAt     int64                         // size of the log
	memTable    int64                         // of the base
	leaps       mvcc.Leaps                    // over keys without a value
	runKeys     int                           // of cleared keys in the base
	firstRepeat time.Duration                 // how long a flush or compaction that has failed waits at first: see base.Options
	queueSize   int64                         // bytes of commits that may wait; 0: WindowSize
	noAbsorb    bool                          // commits move to the base when the test says so
	syncLog     func(sync func() error) error // syncs the log for the absorber; nil: sync
	keepEvery   time.Duration                 // how often log.keep is called; 0: every half second, and never with noAbsorb
}

const (
	defaultCacheSize   = 64 << 20
	defaultWindowSize  = 256 << 20
	leastWindowSize    = 1 << 20
	defaultSegmentSize = 16 << 20
	defaultFlushAt     = 64 << 20
	defaultMemTable    = 64 << 20
	defaultKeepEvery   = time.Second / 2
)

// Validate reports all faults of the options.
func (o Options) Validate() error {
	var errs []error
	if o.CacheSize < 0 {
		errs = append(errs, fmt.Errorf("embedded: CacheSize is %d; use 0 for the default or a number of bytes", o.CacheSize))
	}
	if o.WindowSize < 0 || o.WindowSize > 0 && o.WindowSize < leastWindowSize {
		errs = append(errs, fmt.Errorf("embedded: WindowSize is %d; use 0 for the default or at least %d bytes", o.WindowSize, leastWindowSize))
	}
	if err := o.Transactions.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("embedded: Transactions: %w", err))
	}
	return errors.Join(errs...)
}

// withDefaults returns the options with every zero replaced.
func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value *int64
		other int64
	}{
		{&o.CacheSize, defaultCacheSize},
		{&o.WindowSize, defaultWindowSize},
		{&o.window, mvcc.WindowVersions},
		{&o.segmentSize, defaultSegmentSize},
		{&o.flushAt, defaultFlushAt},
		{&o.memTable, defaultMemTable},
	} {
		if *d.value == 0 {
			*d.value = d.other
		}
	}
	if o.keepEvery == 0 && !o.noAbsorb {
		o.keepEvery = defaultKeepEvery
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if files.OnSystem(o.FS) {
		o.FS = files.Private{FS: o.FS}
	}
	return o
}

// resolveDir returns the folder that a caller means.
func (o Options) resolveDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("embedded: the name of the folder is empty")
	}
	if o.FS != nil && !files.OnSystem(o.FS) {
		return dir, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("embedded: finding %s: %w", dir, err)
	}
	return abs, nil
}

// CorruptError says that a file of the database is damaged: bytes that were on
// the disk for certain are not what was written, or a file is gone. An opening
// that fails with it has changed nothing.
//
// File is the path of the file, Offset the place in it, Reason says what is wrong,
// and Err is the error that reading the file met, nil if there was none.
type CorruptError = fault.CorruptError

// ErrNewer says that a newer version of this library wrote a database, or its base.
// Nothing is damaged and nothing was changed: open it with the newer version.
var ErrNewer = newer.Err
