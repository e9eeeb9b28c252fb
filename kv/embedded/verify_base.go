// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// base checks the base and returns the version that it has absorbed, the highest
// possible if that cannot be known.
func (v *verifier) base() (absorbed int64, err error) {
	dir := v.fs.PathJoin(v.dir, baseDir)
	exists, err := v.parts.hasBase()
	if err == nil && !exists {
		err = &fault.CorruptError{File: dir, Reason: "the folder has no base: it is no database, or its files are gone"}
	}
	if err != nil {
		return math.MaxInt64, v.found(err)
	}
	names, err := v.fs.List(dir)
	if err != nil {
		return 0, err
	}
	b, err := readBase(v.fs, dir, 1<<20)
	if err != nil {
		return math.MaxInt64, errors.Join(v.found(err), v.tables(dir, tableFiles(names)))
	}
	defer func() { err = errors.Join(err, b.db.Close()) }()
	live, err := v.liveTables(b)
	if err != nil {
		return 0, err
	}
	damaged := len(v.report.Damage)
	if err := v.tables(dir, live); err != nil {
		return 0, err
	}
	if len(v.report.Damage) == damaged {
		err = v.found(v.order(b, dir))
	}
	return b.absorbed.Load(), err
}

// unpanicked turns a panic of the storage, which it may meet in bytes that it
// has not written, into an error.
func unpanicked(do func() error) (err error) {
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

func tableFiles(names []string) (tables []table) {
	for _, name := range names {
		if path.Ext(name) == ".sst" {
			tables = append(tables, table{name: name})
		}
	}
	return tables
}

// table is a file of the base.
type table struct {
	name string
	keys string // what keys it holds, for people; empty: unknown
}

// liveTables lists the tables that the base uses.
func (v *verifier) liveTables(b *base) ([]table, error) {
	levels, err := b.db.SSTables()
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, level := range levels {
		for _, t := range level {
			keys := fmt.Sprintf("keys from %s to %s", userKey(t.Smallest.UserKey), userKey(t.Largest.UserKey))
			tables = append(tables, table{name: fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum)), keys: keys})
		}
	}
	slices.SortFunc(tables, func(a, b table) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(tables, func(a, b table) bool { return a.name == b.name }), nil
}

// userKey shows the user's key of one of the base.
func userKey(key []byte) string {
	if len(key) == 0 || key[0] != userSpace {
		return `""`
	}
	return keys.Printable(key[1:])
}

func (v *verifier) tables(dir string, tables []table) error {
	for _, t := range tables {
		err := unpanicked(func() error { return v.table(v.fs.PathJoin(dir, t.name)) })
		if cause := context.Cause(v.ctx); cause != nil {
			return cause
		}
		if err == nil {
			continue
		}
		damage := &fault.CorruptError{File: v.fs.PathJoin(dir, t.name), Reason: err.Error()}
		if at := (*damagedBlock)(nil); errors.As(err, &at) {
			damage.Offset = at.offset
		}
		if t.keys != "" {
			damage.Reason += "; the file holds " + t.keys
		}
		v.report.Damage = append(v.report.Damage, damage)
	}
	return nil
}

// damagedBlock says where in a table the damage is.
type damagedBlock struct {
	offset int64
	what   string
	err    error
}

// Error implements error.
func (d *damagedBlock) Error() string { return fmt.Sprintf("%s: %v", d.what, d.err) }

// Unwrap returns the cause.
func (d *damagedBlock) Unwrap() error { return d.err }

// table checks all blocks of a table, in the order in which they lie.
func (v *verifier) table(name string) error {
	file, err := v.fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	v.report.Files++
	v.report.Bytes += readable.Size()
	options := &pebble.Options{}
	options.EnsureDefaults()
	r, err := sstable.NewReader(v.ctx, readable, options.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	layout, err := r.Layout()
	if err == nil {
		err = v.blocks(readable, layout, r.BlockReader().ChecksumType())
	}
	return errors.Join(err, r.Close())
}

// blocks checks the checksum of each block.
func (v *verifier) blocks(file objstorage.Readable, layout *sstable.Layout, kind block.ChecksumType) error {
	var room []byte
	for _, b := range blocksOf(layout) {
		if err := context.Cause(v.ctx); err != nil {
			return err
		}
		size := int(b.Length) + block.TrailerLen
		room = slices.Grow(room[:0], size)[:size]
		err := file.ReadAt(v.ctx, room, int64(b.Offset))
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

// order checks that keys ascend in every table, and that newer entries lie above
// older ones.
func (v *verifier) order(b *base, dir string) error {
	var stats pebble.CheckLevelsStats
	err := unpanicked(func() error { return b.db.CheckLevels(&stats) })
	v.report.Keys = stats.NumPoints
	if err != nil {
		return &fault.CorruptError{File: dir, Reason: fmt.Sprintf("the tables do not fit each other: %v", err)}
	}
	return nil
}
