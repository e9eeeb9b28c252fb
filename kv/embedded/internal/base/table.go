// SPDX-License-Identifier: Apache-2.0

package base

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

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
