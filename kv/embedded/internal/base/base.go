// SPDX-License-Identifier: Apache-2.0

// Package base holds the values of all keys as they were a few seconds ago, on the
// disk: a Pebble store without a log of its own, with a cache of rows before it.
//
// It promises to the packages above:
//
//   - After [Batch.Apply] has returned, no read that begins gets a value from before
//     the batch: neither from the store nor from the row cache.
//   - A value that a reader gets is that of some moment between call and return. A
//     reader at a version asks [Base.IsTooOld] after it has read, and drops what it
//     has read if that is true. The writer calls [Base.RefuseReadersBelow] before it
//     changes the base.
//   - After the first error of the disk nothing more is written to the disk, and the
//     error is raised as the database's fault. Reads go on.
//   - [Base.Flush] brings every applied batch to the disk. After a crash the base is
//     as it was after some batch that ended with [Batch.Finish], or later.
//
// One goroutine at a time writes; any number read.
package base

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// Base holds each key's value as it was a window ago, on disk: an LSM tree that
// has no log of its own. It lags the window and never leads it. A reader with
// a version that is too old learns that after it has read, and must not
// use what it has read.
type Base struct {
	db     *pebble.DB
	fs     baseFS
	fault  *fault.Fault
	gate   *Gate
	rows   *rowCache
	rooms  sync.Pool     // of *[]byte, for names of keys
	sample Sample        // of what is in db
	failed chan struct{} // closed when db can no longer be written to

	runKeys     int           // see Options
	firstRepeat time.Duration // see Options

	flushing   failures
	compacting failures
	closing    chan struct{} // closed when Close begins

	compactions  *compactions
	compacted    chan struct{} // has an element after a compaction
	oldestReader atomic.Int64  // readers of older versions may see too much
	absorbed     atomic.Int64  // every commit up to it is in db; the absorber writes it
}

// Keys of the base: those of users after a byte, which makes the empty key
// one that can be stored, and the base's own.
const (
	ownSpace  = 0x00
	userSpace = 0x01
	spaceEnd  = 0x02
)

// absorbedKey holds the version that the base has absorbed, eight bytes
// big-endian, in the batch that completes it.
var absorbedKey = []byte{ownSpace, 'a', 'b', 's', 'o', 'r', 'b', 'e', 'd'}

// baseKey appends the base's name of a user's key to b.
func baseKey(b, key []byte) []byte { return append(append(b, userSpace), key...) }

// mostSublevels is how many sublevels of tables, each of which a read must look
// at, may await compaction.
const mostSublevels = 12

// options are measured: filters on every level make absent keys cheap.
func (b *Base) options(cacheSize, memTable int64) *pebble.Options {
	o := &pebble.Options{
		FS:           b.fs,
		DisableWAL:   true,
		CacheSize:    cacheSize + memTable, // Pebble takes the memtable out of the cache
		MemTableSize: uint64(memTable),
		Logger:       silence{b},

		FormatMajorVersion:    formatOfBase,
		L0CompactionThreshold: 2,
		L0StopWritesThreshold: 1 << 20, // the absorber waits, in a way that closing ends
		MaxOpenFiles:          512,
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	o.EventListener = b.listener()
	return o
}

// Owns reports whether a file with this name belongs to a base: see the names of files in
// Pebble.
func Owns(name string) bool {
	for _, prefix := range []string{"MANIFEST-", "OPTIONS-", "marker."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	stem, ext, _ := strings.Cut(name, ".")
	_, err := strconv.ParseUint(stem, 10, 64)
	return err == nil && (ext == "sst" || ext == "blob" || ext == "log")
}

// IsManifestMarker reports whether a file of the base is the one with the name that says
// which manifest counts. Without it the base would begin anew.
func IsManifestMarker(name string) bool { return strings.HasPrefix(name, "marker.manifest.") }

// fail records what the base cannot go on after, and keeps the base from the disk.
// Whoever learns that the base has failed finds the fault. The base calls it while it
// holds its locks.
func (b *Base) fail(err error) {
	_ = b.fault.Raise("writing the base", err)
	b.seal()
}

// seal keeps the base from writing anything more to the disk, and from beginning
// compactions, which would go on in memory.
func (b *Base) seal() {
	if b.fs.seal() {
		b.compactions.forbid()
		close(b.failed)
	}
}

// silence is the base's logger.
type silence struct{ base *Base }

// Infof implements [pebble.Logger].
func (silence) Infof(string, ...any) {}

// Errorf implements [pebble.Logger].
func (silence) Errorf(string, ...any) {}

// Fatalf implements [pebble.Logger].
func (s silence) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	for _, arg := range args {
		if cause, ok := arg.(error); ok && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (%v)", cause, err)
		}
	}
	s.base.fail(err)
}

func newBase(fs vfs.FS, f *fault.Fault) *Base {
	b := &Base{
		fault: f, gate: NewGate(), compactions: newCompactions(),
		failed: make(chan struct{}), closing: make(chan struct{}), compacted: make(chan struct{}, 1),
	}
	b.rooms.New = func() any { return new([]byte) }
	b.fs = newBaseFS(fs, b)
	return b
}

// rowShare is the part of the cache that is for rows: 1/rowShare. Measured with a
// quarter, a half and three quarters, on data that is larger than the cache: gets
// of keys of which some are much wanted gain the most from the first half; with
// more, scans, for which there are blocks only, begin to lose.
const rowShare = 2

// Options say where a base is and how much memory it takes, in bytes.
type Options struct {
	Fs        vfs.FS
	CacheSize int64 // for blocks and rows
	MemTable  int64
	RunKeys   int // cleared keys of a run that becomes one range tombstone, at least; 0: 16, which is measured

	FirstRepeat time.Duration // how long a flush or compaction that has failed waits at first; 0: 10 ms; negative: it does not
}

// Open opens or makes the base in dir.
func Open(dir string, o Options, f *fault.Fault) (*Base, error) {
	b := newBase(o.Fs, f)
	forRows := o.CacheSize / rowShare
	b.rows = newRowCache(forRows)
	b.runKeys, b.firstRepeat = cmp.Or(o.RunKeys, runKeys), cmp.Or(o.FirstRepeat, firstRepeat)
	options := b.options(o.CacheSize-forRows, o.MemTable)
	options.Experimental.CompactionScheduler = b.compactions
	var err error
	if b.db, err = pebble.Open(dir, options); err != nil {
		b.fs.writing.close()
		return nil, fmt.Errorf("embedded: opening the base in %s: %w", dir, err)
	}
	absorbed, err := b.readAbsorbed()
	if err == nil {
		err = b.readSample()
	}
	if err == nil {
		err = f.Get() // the base may not have been told of an error
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: reading the base in %s: %w", dir, err), b.Close())
	}
	b.absorbed.Store(absorbed)
	b.oldestReader.Store(absorbed)
	b.compactions.allow()
	return b, nil
}

func (b *Base) readAbsorbed() (int64, error) {
	value, closer, err := b.db.Get(absorbedKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	if len(value) != 8 {
		return 0, errors.New("the absorbed version is malformed")
	}
	return int64(binary.BigEndian.Uint64(value)), nil
}

// Get returns the value that key has in the base, nil if there is none. It may be
// shared with others. It is the value of some moment between call and return: for
// a reader at a version, [Base.IsTooOld] decides whether that is the right one.
func (b *Base) Get(key []byte) ([]byte, error) {
	value, ok, t := b.rows.get(key)
	if ok {
		return value, nil
	}
	return b.Read(t, key)
}

// Read is Get for a reader that has a ticket of the row cache.
func (b *Base) Read(t reads.Ticket, key []byte) ([]byte, error) {
	if !b.gate.Enter() {
		return nil, kv.ErrClosed
	}
	defer b.gate.Leave()
	room := b.rooms.Get().(*[]byte)
	defer b.rooms.Put(room)
	*room = baseKey((*room)[:0], key)
	value, closer, err := b.db.Get(*room)
	if errors.Is(err, pebble.ErrNotFound) {
		return b.rows.add(t, key, nil, false), nil
	}
	if err != nil {
		return nil, readFailed(err)
	}
	own := b.rows.add(t, key, value, true)
	return own, closer.Close()
}

func readFailed(err error) error { return &fault.DiskError{Doing: "reading the base", Err: err} }

// IsTooOld reports whether what a reader at version has read may be newer. The
// reader asks after it has read.
func (b *Base) IsTooOld(version int64) bool { return version < b.oldestReader.Load() }

// RefuseReadersBelow makes all versions below one too old. The absorber calls it before
// the base changes.
func (b *Base) RefuseReadersBelow(below int64) { b.oldestReader.Store(below) }

// AbsorbedVersion returns the version up to which the base has every commit.
func (b *Base) AbsorbedVersion() int64 { return b.absorbed.Load() }

// SetAbsorbed notes the version that a batch has finished with.
func (b *Base) SetAbsorbed(version int64) { b.absorbed.Store(version) }

// ByteSample returns the sample of what is in the base.
func (b *Base) ByteSample() *Sample { return &b.sample }

// Lookup returns what the row cache says of key: see [Base.Get]. If that is
// nothing, the ticket lets read add what it reads.
func (b *Base) Lookup(key []byte) (value []byte, ok bool, t reads.Ticket) { return b.rows.get(key) }

// Prefetch loads the rows that the row cache has of some keys. A lookup waits for a
// slot of the table, then for the row, then for its pair. Prefetch waits for
// all slots at once, then for all rows, then for all pairs.
func (b *Base) Prefetch(keys [][]byte) {
	for len(keys) > 0 {
		n := min(prefetchedRows, len(keys))
		b.rows.prefetch(keys[:n])
		keys = keys[n:]
	}
}

// Flush brings the base to the disk, unless stop is closed before. It reports
// whether it did.
func (b *Base) Flush(stop <-chan struct{}) (bool, error) {
	flushed, err := b.db.AsyncFlush()
	if err != nil {
		return false, err
	}
	select {
	case <-flushed:
		return !b.fs.sealed(), nil // else it may be in memory
	case <-stop:
	case <-b.failed:
	}
	return false, nil
}

// AwaitCompactions waits while compactions lag so far that reads suffer,
// unless stop is closed before.
func (b *Base) AwaitCompactions(stop <-chan struct{}) {
	for b.db.Metrics().Levels[0].Sublevels >= mostSublevels {
		select {
		case <-b.compacted:
		case <-stop:
			return
		case <-b.failed:
			return
		}
	}
}

// Close waits for the readers and closes the base. Of one that has failed the
// errors say nothing new.
func (b *Base) Close() error {
	close(b.closing)
	b.gate.Shut()
	b.rows.close()
	err := b.db.Close()
	b.fs.writing.close()
	if b.fs.sealed() {
		return nil
	}
	return err
}

func (b *Base) NewBatch() (*Batch, error) {
	keys, err := b.db.NewIter(&pebble.IterOptions{LowerBound: []byte{userSpace}, UpperBound: []byte{spaceEnd}})
	if err != nil {
		return nil, err
	}
	return &Batch{base: b, batch: b.db.NewBatch(), keys: keys}, nil
}

// outdate takes what has changed in the base out of the row cache.
func (b *Base) outdate(changes batchrepr.Reader) error {
	var spans []keySpan
	for {
		kind, key, value, ok, err := changes.Next()
		switch {
		case err != nil:
			return err
		case !ok:
			b.rows.forgetSpans(spans)
			return nil
		case key[0] != userSpace:
		case kind == pebble.InternalKeyKindRangeDelete:
			spans = append(spans, spanOf(key, value))
		default:
			b.rows.forget(key[1:])
		}
	}
}

// The base keeps its sample among its own keys: after this prefix the user's
// key, with the bytes that it stands for as a varint. It changes in the batches
// that change what it is a sample of.
var (
	samplePrefix = []byte{ownSpace, 's', '/'}
	sampleEnd    = []byte{ownSpace, 's', '/' + 1}
)

func sampleKey(key []byte) []byte { return append(bytes.Clone(samplePrefix), key...) }

// readSample brings the sample into memory: 1/sampleFactor of the base, about.
func (b *Base) readSample() error {
	iter, err := b.db.NewIter(&pebble.IterOptions{LowerBound: samplePrefix, UpperBound: sampleEnd})
	if err != nil {
		return err
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		size, n := binary.Varint(iter.Value())
		if n <= 0 || size <= 0 {
			return errors.Join(errors.New("the sample of sizes is malformed"), iter.Close())
		}
		b.sample.Restore(bytes.Clone(iter.Key()[len(samplePrefix):]), size)
	}
	return iter.Close()
}

// Metrics is how a base does.
type Metrics struct {
	Bytes, Tables, Memory              int64 // on disk, in files; not on the disk yet
	CacheBytes, CacheHits, CacheMisses int64
	Compactions, CompactBytes          int64 // made; estimated work that compactions still have to do
}

// Metrics returns how the base does, zeros if it is closed or has failed.
func (b *Base) Metrics() (m Metrics) {
	if b.fs.sealed() || !b.gate.Enter() {
		return m
	}
	defer b.gate.Leave()
	p := b.db.Metrics()
	total := p.Total()
	m.Bytes, m.Tables, m.Memory = int64(p.DiskSpaceUsage()), total.TablesCount, int64(p.MemTable.Size)
	m.CacheBytes, m.CacheHits, m.CacheMisses = p.BlockCache.Size+b.rows.size(), p.BlockCache.Hits, p.BlockCache.Misses
	m.Compactions, m.CompactBytes = p.Compact.Count, int64(p.Compact.EstimatedDebt)
	return m
}
