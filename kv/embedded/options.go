// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
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
	Transactions kv.TransactionOptions

	// NoSync acknowledges commits before they are on the disk. The log is synced
	// every half second, and commits wait while it is. A crash of the process
	// loses none of them; a crash of the machine may lose the commits of the last
	// second: whole commits, and the newest only, so that what is left is what the
	// database was at some moment. For data that can be made again.
	NoSync bool

	// Memory is about how much memory, in bytes, the process needs for the database under a
	// load: for caches, the commits of the last seconds, what the disk is about to get, and as
	// much garbage as Go's collector leaves if GOGC is 100. It is a measure and not a limit:
	// transactions that stay open for seconds while others write take more, see WindowSize.
	//
	// CacheSize and WindowSize follow from it if they are 0. When recent commits take a
	// sixteenth of it, they move to the disk before they are five seconds old, as far as no
	// open transaction can read what was before them; at an eighth, further commits wait for
	// that. The log on disk keeps about as much. 0: 64 MB. The least is 1 MB.
	Memory int64

	// CacheSize is the memory, in bytes, for what was read from the disk lately:
	// half of it for blocks of the files, half for single keys that were read again, and
	// their values.
	// 0: a quarter of Memory.
	CacheSize int64

	// WindowSize is the most memory, in bytes, for the commits of the last five
	// seconds, with those that open transactions keep there. When it is in use, further
	// commits wait for the oldest reader to end or to become five seconds old. While a transaction is always open that
	// is as old as it may be, at most WindowSize in five seconds is written. A
	// write counts its key, its value, and 160 bytes; an atomic operation counts the value
	// that it makes, and the transaction fails with CodeTransactionTooLarge if those that
	// keep the value before them make more than 32 MB. Commits that wait may take as much
	// again; beyond that they fail with CodeCommitProxyMemoryLimitExceeded, and are retried.
	// 0: four times Memory. The least is 1 MB.
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
	defaultMemory    = 64 << 20
	leastMemory      = 1 << 20
	leastWindowSize  = 1 << 20
	leastMemTable    = 1 << 20
	mostMemTable     = 64 << 20
	memoryHistory    = 16 << 20 // past versions of a database in memory
	defaultKeepEvery = time.Second / 2
)

// Validate reports all faults of the options.
func (o Options) Validate() error {
	var errs []error
	if o.Memory < 0 || o.Memory > 0 && o.Memory < leastMemory {
		errs = append(errs, fmt.Errorf("embedded: Memory is %d; use 0 for the default or at least %d bytes", o.Memory, leastMemory))
	}
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
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.CacheSize = cmp.Or(o.CacheSize, o.Memory/4)
	o.WindowSize = cmp.Or(o.WindowSize, 4*o.Memory)
	o.window = cmp.Or(o.window, mvcc.WindowVersions)
	o.memTable = cmp.Or(o.memTable, min(max(o.Memory/16, leastMemTable), mostMemTable))
	o.flushAt = cmp.Or(o.flushAt, o.memTable)
	o.segmentSize = cmp.Or(o.segmentSize, o.memTable/2)
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

// settleAt returns how many bytes of recent commits move to the base before they are old.
func (o Options) settleAt() int64 {
	if o.noAbsorb {
		return o.WindowSize / 2
	}
	return min(o.Memory/16, o.WindowSize/2)
}

// historySize returns how many bytes past versions may take that no transaction reads.
func (o Options) historySize() int64 { return min(o.Memory, o.WindowSize) / 32 }

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
