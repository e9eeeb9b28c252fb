// SPDX-License-Identifier: Apache-2.0

package base

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// OpenReadOnly opens the base in dir without writing anything. A base that cannot be
// read is a [fault.CorruptError], unless the file system has failed; one of a newer format is
// a [fault.FormatError].
func OpenReadOnly(fs vfs.FS, dir string, cacheSize int64) (*Base, error) {
	if err := checkFormat(fs, dir); err != nil {
		return nil, err
	}
	b := newBase(fs, fault.New())
	b.seal()
	forRows := cacheSize / rowShare
	b.rows = newRowCache(forRows)
	options := b.options(cacheSize-forRows, 1<<20)
	options.ReadOnly = true
	options.ErrorIfNotExists = true
	err := catchPanics(func() (err error) {
		b.db, err = pebble.Open(dir, options)
		return err
	})
	if err == nil {
		var absorbed int64
		absorbed, err = b.readAbsorbed()
		b.absorbed.Store(absorbed)
		b.oldestReader.Store(absorbed)
	}
	if err == nil {
		return b, nil
	}
	if b.db != nil {
		err = errors.Join(err, b.db.Close())
	}
	if isDiskFault(err) {
		return nil, fmt.Errorf("embedded: reading the base in %s: %w", dir, err)
	}
	return nil, &fault.CorruptError{File: dir, Reason: fmt.Sprintf("the base cannot be read: %v", err), Err: err}
}

// isDiskFault reports whether an error is that of the operating system, and not
// that a file is missing: it says nothing about what the files hold.
func isDiskFault(err error) bool {
	path, call, number := (*iofs.PathError)(nil), (*os.SyscallError)(nil), syscall.Errno(0)
	fromSystem := errors.As(err, &path) || errors.As(err, &call) || errors.As(err, &number)
	return fromSystem && !errors.Is(err, iofs.ErrNotExist)
}

// ReadAbsorbed returns up to which version the base in dir has absorbed commits.
// It writes nothing.
func ReadAbsorbed(fs vfs.FS, dir string) (version int64, err error) {
	b, err := OpenReadOnly(fs, dir, 0)
	if err != nil {
		return 0, err
	}
	return b.absorbed.Load(), b.CloseStore()
}

// CloseStore closes a base that OpenReadOnly opened, and that no goroutine reads.
func (b *Base) CloseStore() error { return b.db.Close() }

// LiveTables lists the tables that the base uses.
func (b *Base) LiveTables() ([]Table, error) {
	levels, err := b.db.SSTables()
	if err != nil {
		return nil, err
	}
	var tables []Table
	for _, level := range levels {
		for _, t := range level {
			keys := fmt.Sprintf("keys from %s to %s", userKey(t.Smallest.UserKey), userKey(t.Largest.UserKey))
			tables = append(tables, Table{Name: fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum)), Keys: keys})
		}
	}
	slices.SortFunc(tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tables, func(a, b Table) bool { return a.Name == b.Name }), nil
}

// CheckOrder checks that keys ascend in every table, and that newer entries lie
// above older ones. It returns how many entries there are.
func (b *Base) CheckOrder() (entries int64, err error) {
	var stats pebble.CheckLevelsStats
	err = catchPanics(func() error { return b.db.CheckLevels(&stats) })
	return stats.NumPoints, err
}

// Checkpoint writes what the base has on the disk to a folder, which it makes in
// one that belongs to the backup. It does not sync the folders. After an error the base goes on.
func (b *Base) Checkpoint(ctx context.Context, dir string) error {
	b.fs.checkpoints.Store(&checkpointWrite{ctx, b.fs.PathDir(dir)}) // Pebble syncs the folder above, too
	defer b.fs.checkpoints.Store(nil)
	err := b.db.Checkpoint(dir)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err == nil {
		err = b.fault.Get() // what was copied may not have been on the disk
	}
	return err
}

// formatOfBase is the format of new bases, 24, and the one that older ones get when they
// are opened. Every release so far has written it, as the newest that its Pebble knew. It
// does not follow Pebble's newest: that would change folders for good, so that no
// older release could open them, with an update of a dependency. A newer one is a change of
// the folder's format: see docs/layout.md.
const formatOfBase = pebble.FormatValueSeparation

// checkFormat returns a [fault.FormatError] if the base has a format that this version
// does not know. Pebble has the format in the name of a file:
// marker.format-version.<iteration>.<format>, of which the highest iteration
// counts.
func checkFormat(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return nil // opening the base reports it
	}
	newest, format := -1, 0
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, "marker.format-version.")
		iteration, version, found := strings.Cut(rest, ".")
		i, err := strconv.Atoi(iteration)
		if !ok || !found || err != nil || i <= newest {
			continue
		}
		if v, err := strconv.Atoi(version); err == nil {
			newest, format = i, v
		}
	}
	if format > int(pebble.FormatNewest) {
		return &fault.FormatError{Dir: dir, Format: format, Newest: int(pebble.FormatNewest)}
	}
	return nil
}

// catchPanics turns a panic of the storage, which it may meet in bytes that it
// has not written, into an error.
func catchPanics(do func() error) (err error) {
	done := make(chan struct{})
	go func() { // which the storage may end
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%w: %v", errStorage, p)
			}
		}()
		err = errStorage
		err = do()
	}()
	<-done
	return err
}

// errStorage says that the storage could not go on with what it has read.
var errStorage = errors.New("the storage gave up")

func TableFiles(names []string) (tables []Table) {
	for _, name := range names {
		if path.Ext(name) == ".sst" {
			tables = append(tables, Table{Name: name})
		}
	}
	return tables
}

// Table is a file of the base.
type Table struct {
	Name string
	Keys string // what keys it holds, for people; empty: unknown
}

// userKey shows the user's key of one of the base.
func userKey(key []byte) string {
	if len(key) == 0 || key[0] != userSpace {
		return `""`
	}
	return keys.Printable(key[1:])
}

// damagedBlock says where in a table the damage is.
type damagedBlock struct {
	offset int64
	what   string
	err    error
}

// DamagedAt returns where in a table the damage is that an error tells of, 0 if it
// does not say.
func DamagedAt(err error) int64 {
	if at := (*damagedBlock)(nil); errors.As(err, &at) {
		return at.offset
	}
	return 0
}

// Error implements error.
func (d *damagedBlock) Error() string { return fmt.Sprintf("%s: %v", d.what, d.err) }

// Unwrap returns the cause.
func (d *damagedBlock) Unwrap() error { return d.err }

// verifyTable checks all blocks of a table, in the order in which they lie. It returns
// the table's size, -1 if it cannot be opened.
func verifyTable(ctx context.Context, fs vfs.FS, name string) (size int64, err error) {
	file, err := fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return -1, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return -1, errors.Join(err, file.Close())
	}
	size = readable.Size()
	options := &pebble.Options{}
	options.EnsureDefaults()
	r, err := sstable.NewReader(ctx, readable, options.MakeReaderOptions())
	if err != nil {
		return size, errors.Join(err, readable.Close())
	}
	layout, err := r.Layout()
	if err == nil {
		err = verifyBlocks(ctx, readable, layout, r.BlockReader().ChecksumType())
	}
	return size, errors.Join(err, r.Close())
}

// verifyBlocks checks the checksum of each block.
func verifyBlocks(ctx context.Context, file objstorage.Readable, layout *sstable.Layout, kind block.ChecksumType) error {
	var room []byte
	for _, b := range blocksOf(layout) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		size := int(b.Length) + block.TrailerLen
		room = slices.Grow(room[:0], size)[:size]
		err := file.ReadAt(ctx, room, int64(b.Offset))
		if err == nil {
			err = block.ValidateChecksum(kind, room, b)
		}
		if err != nil {
			return &damagedBlock{int64(b.Offset), fmt.Sprintf("a block of %d bytes", b.Length), err}
		}
	}
	return nil
}

func blocksOf(l *sstable.Layout) []block.Handle {
	blocks := []block.Handle{l.TopIndex, l.RangeDel, l.RangeKey, l.ValueIndex, l.Properties, l.MetaIndex, l.BlobReferenceIndex}
	for i := range l.Data {
		blocks = append(blocks, l.Data[i].Handle)
	}
	for i := range l.Filter {
		blocks = append(blocks, l.Filter[i].Handle)
	}
	blocks = append(append(blocks, l.Index...), l.ValueBlock...)
	blocks = slices.DeleteFunc(blocks, func(b block.Handle) bool { return b.Length == 0 })
	slices.SortFunc(blocks, func(a, b block.Handle) int { return cmp.Compare(a.Offset, b.Offset) })
	return blocks
}

// Check reads a table of the base in dir: see verifyTable.
func (t *Table) Check(ctx context.Context, fs vfs.FS, dir string) (size int64, err error) {
	size = -1
	err = catchPanics(func() (err error) {
		size, err = verifyTable(ctx, fs, fs.PathJoin(dir, t.Name))
		return err
	})
	return size, err
}
