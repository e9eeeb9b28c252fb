// SPDX-License-Identifier: Apache-2.0

// Package commitlog is the log that makes commits durable: one frame for each
// version, in segments (see [Log]). The log has every commit that the base may not
// have on the disk.
//
// It promises to the packages above:
//
//   - Once [Log.Append] of a log that is not lazy, or [Log.Sync], has returned nil, a
//     crash loses none of the frames before it.
//   - [Read] gives every mutation of the frames that are on the disk, in the order
//     of versions. It cuts off what a crash has left of the last frame. Damage
//     anywhere else is a [fault.CorruptError]. Read writes nothing.
//   - After the first error of a write or a sync the log goes no further: each later
//     call returns that error.
//   - [Log.Drop] removes segments whole, the oldest first, and none while the log is
//     pinned ([Log.Pin]).
//
// A caller reads a log, starts it, and closes it. The methods are safe for
// concurrent use, but for Start and Close. The caller appends versions in ascending
// order.
package commitlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// Options say where a log is and how it is written.
type Options struct {
	FS          vfs.FS
	Dir         string
	Lazy        bool  // do not sync each frame
	SegmentSize int64 // beyond which a new segment begins
}

// End is how far a log goes. The zero value means that the end is not known.
type End struct {
	Segment uint64 // the newest; it has no frames
	Version int64  // of the newest commit
}

// Replay says what of a log is read, and what is known of it.
type Replay struct {
	Above         int64                                    // only commits of higher versions are given to apply
	Apply         func(version int64, m mutation.Mutation) // is given the mutations in order
	Closed        End                                      // where the log ended when it was closed last
	Must          bool                                     // there is a log: a folder without one is damaged
	Old           bool                                     // the newest segment may be of format 1: a crash may have torn its header
	Alone         bool                                     // the log is read without its base, which may have what the log lacks
	BeforeSegment func(size int64) error                   // unless nil, called before a segment of that size is read
}

// segmentName returns the name of a log file.
func segmentName(number uint64) string { return fmt.Sprintf("%06d.log", number) }

// segment is a log file that is complete.
type segment struct {
	number uint64
	last   int64 // highest version in it and in those before
	size   int64
}

// Log holds every commit that the base may not have on disk yet: one frame a
// version, in segments. A commit is acknowledged once its frame is synced.
//
// A segment is never continued by a later opening: the next one begins, and says
// in its header where the valid part of the one before ends. Close begins one,
// too, so that after it no record can be taken for one that a crash cut off.
type Log struct {
	fs   vfs.FS
	dir  string
	lazy bool  // do not sync each frame
	cut  int64 // size beyond which a new segment begins

	// mu guards all that follows. It is held while a frame is written and synced, and
	// while a segment is begun, but not while one is removed.
	mu      sync.Mutex
	file    vfs.File // of the segment that is written
	number  uint64
	header  header // of file; while the log is read, that of no segment
	last    int64  // last version written
	size    int64  // bytes written to file
	synced  int64  // bytes of file that are on the disk for certain
	data    int64  // where the last frame that has writes ends in file; 0: there is none
	told    int64  // the highest synced that a frame of file says
	old     []segment
	oldSize int64
	syncs   Histogram // how long they took
	pins    int       // copies under way, which need the segments
	err     error     // the first of a write or a sync: the log goes no further

	torn     int64  // bytes after the end that was found
	unproven []byte // the end of the segment that was read last, as far as no frame says that it is on the disk

	first  uint64   // segment of this opening
	shared uint64   // segments up to it may be a part of a backup, too
	spares []string // files to be used again
	reused bool     // file is longer than what was written to it

	bytes    atomic.Int64 // oldSize and size: see Backlog
	segments atomic.Int64 // old and the one that is written
}

// LastVersion returns the highest version in the log.
func (l *Log) LastVersion() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// TornBytes returns how many bytes a crash has left after the end that was found.
func (l *Log) TornBytes() int64 { return l.torn }

// SyncTimes counts how long syncs took, in nanoseconds.
func (l *Log) SyncTimes() *Histogram { return &l.syncs }

// Append fills in the head of a frame, writes it, and syncs it
// unless the log is lazy.
func (l *Log) Append(version int64, b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size >= l.cut {
		if err := l.beginSegment(); err != nil {
			return err
		}
	}
	if err := l.write(version, b); err != nil {
		return err
	}
	l.last, l.data = version, l.size
	if l.lazy {
		return nil
	}
	return l.syncLocked()
}

// write fills in the head of a frame and writes it.
func (l *Log) write(version int64, b []byte) error {
	if l.err != nil {
		return l.err
	}
	if err := checkFrameSize(int64(len(b))); err != nil { // the committer bounds what it writes
		return l.fail("writing to", l.number, err)
	}
	l.header.sealFrame(b, l.size, version, l.synced)
	n, err := l.file.Write(b)
	l.size += int64(n)
	l.countBacklog()
	if err != nil {
		return l.fail("writing to", l.number, err)
	}
	l.told = l.synced
	return nil
}

// fail keeps the error of a write or a sync, after which the log goes no further.
// A part of a frame may be in the file then, which no later segment may count to
// the valid part. And a later sync may succeed although the disk has dropped what
// the first was to bring to it.
func (l *Log) fail(doing string, number uint64, err error) error {
	if l.err == nil {
		l.err = fmt.Errorf("%s %s: %w", doing, segmentName(number), err)
	}
	return l.err
}

// Confirm syncs what a lazy log has written, and then writes a frame without writes
// that says so. Of a log that is not lazy it writes that frame only. Without it
// damage to the last frame could not be told from a write that a crash cut off.
func (l *Log) Confirm() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.err != nil || l.data <= l.told {
		return nil
	}
	if l.synced < l.data {
		if err := l.syncLocked(); err != nil {
			return err
		}
	}
	if err := l.write(l.last, make([]byte, FrameHeadSize)); err != nil {
		return err
	}
	if l.lazy {
		return nil
	}
	return l.syncLocked() // at most one frame of a log that is not lazy is not on the disk
}

// Sync makes what was written so far durable.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.syncLocked()
}

func (l *Log) syncLocked() error {
	if l.err != nil || l.file == nil || l.synced == l.size {
		return l.err
	}
	begin := time.Now()
	if err := l.file.SyncData(); err != nil {
		return l.fail("syncing", l.number, err)
	}
	l.syncs.Add(int64(time.Since(begin)))
	l.synced = l.size
	return nil
}

// beginSegment ends the segment that is written and begins the next one.
func (l *Log) beginSegment() error {
	if err := l.syncLocked(); err != nil {
		return err
	}
	h := newHeader(l.number+1, l.size, l.last)
	if l.file != nil {
		err := l.file.Close()
		l.file = nil
		if err != nil {
			return l.fail("closing", l.number, err)
		}
		l.old = append(l.old, segment{l.number, l.last, l.size})
		l.oldSize += l.size
	}
	file, err := l.newFile(&h)
	if err != nil {
		return l.fail("beginning", h.number, err)
	}
	if err := files.SyncDir(l.fs, l.dir); err != nil {
		return l.fail("beginning", h.number, errors.Join(err, file.Close()))
	}
	if l.first == 0 {
		l.first = h.number
	}
	l.file, l.number, l.header, l.size, l.synced = file, h.number, h, headerSize, headerSize
	l.data, l.told = 0, headerSize
	l.countBacklog()
	return nil
}

// Backlog returns how much an opening would read. It does not wait for the disk.
func (l *Log) Backlog() (bytes int64, segments int) {
	return l.bytes.Load(), int(l.segments.Load())
}

// Covered returns how much of the log Drop would remove for a version.
func (l *Log) Covered(version int64) (bytes int64, segments int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.old {
		if s.last > version {
			return bytes, segments
		}
		bytes += s.size
		segments++
	}
	if l.last <= version {
		bytes += l.size
		segments++
	}
	return bytes, segments
}

// countBacklog notes how much there is.
func (l *Log) countBacklog() {
	l.bytes.Store(l.oldSize + l.size)
	l.segments.Store(int64(len(l.old)) + 1)
}

// Drop removes the segments that hold nothing newer than version, which the
// base has on disk, until they are pinned, and reports whether all are gone. If the
// segment that is written is one of them, a new one begins before. One goroutine at a
// time calls it.
func (l *Log) Drop(version int64) (all bool, err error) {
	if l.IsPinned() {
		return false, nil
	}
	if err := l.endSegment(version); err != nil {
		return false, err
	}
	for {
		s, some, all := l.takeOldest(version)
		if !some {
			return all, nil
		}
		// In order, and each for good before the next: a gap would be damage.
		if err := l.discard(s.number); err != nil {
			return false, fmt.Errorf("removing %s: %w", segmentName(s.number), err)
		}
	}
}

// endSegment begins another segment if the one that is written holds nothing newer than
// version.
func (l *Log) endSegment(version int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.last > version || l.size <= headerSize {
		return l.err
	}
	return l.beginSegment()
}

// takeOldest takes the oldest segment out of the list, for Drop to remove its file, or
// reports that there are no more. A copy that begins later needs it no more: the base has
// it on the disk.
func (l *Log) takeOldest(version int64) (s segment, some, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all = len(l.old) == 0 || l.old[0].last > version
	if l.err != nil || l.pins > 0 || all {
		return segment{}, false, all
	}
	s = l.old[0]
	l.oldSize -= s.size
	l.old = l.old[1:]
	l.countBacklog()
	return s, true, false
}

// Start begins a new segment of a log that was read. Its last is then the highest
// version that was found, at least that which the base has absorbed.
func (l *Log) Start(absorbed int64) error {
	if err := l.reopen(); err != nil {
		return err
	}
	if err := l.removeSpares(); err != nil {
		return err
	}
	l.last = max(l.last, absorbed)
	return l.beginSegment()
}

// reopen opens the segment that was written last, so that beginning the next
// one makes its valid part durable: what a reader has seen, a later crash must not
// take back.
func (l *Log) reopen() error {
	if l.number == 0 {
		return nil
	}
	file, err := l.fs.OpenReadWrite(l.fs.PathJoin(l.dir, segmentName(l.number)), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("embedded: opening the log: %w", err)
	}
	l.file = file
	return l.rewrite()
}

// rewrite writes the end of the segment again that may not be on the disk. After a sync
// that failed, an operating system may go on showing what did not reach the disk, and take
// it for written: then another sync would not bring it there.
func (l *Log) rewrite() error {
	if _, err := l.file.WriteAt(l.unproven, l.size-int64(len(l.unproven))); err != nil {
		return l.fail("writing again to", l.number, err)
	}
	l.unproven = nil
	return nil
}

// Close syncs and releases the log, and returns how far it went. The last segment
// is then one without frames, in a file of its own, which says where the one
// before ends.
func (l *Log) Close() (End, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return End{}, l.err
	}
	err := errors.Join(l.syncLocked(), l.removeSpares())
	if err == nil && (l.size > headerSize || l.reused) {
		err = l.beginSegment()
	}
	c := End{Segment: l.number, Version: l.last}
	return c, errors.Join(err, l.releaseLocked())
}

// Release closes the file that is written, and changes nothing.
func (l *Log) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.releaseLocked()
}

func (l *Log) releaseLocked() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}
