// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// Segments that are not needed any more are written over by later ones: to sync
// a file that has its blocks already costs about half of syncing one that
// grows, because the file system has nothing to note. What the old segment has
// left after the new one's frames is invalid there: a frame's checksum covers
// the segment's number and salt, and never fits another.
//
// A lazy log does not do that: it is not synced for each frame, and what a crash
// leaves of it can be told from damage only where a file was empty at first.

const (
	// sparePrefix begins the names of files that wait to be used again, and of a file
	// until its header is written.
	sparePrefix = "spare-"

	// mostSpares is how many are kept.
	mostSpares = 2
)

// Owns reports whether a file with this name belongs to a log.
func Owns(name string) bool { return IsSegment(name) || strings.HasPrefix(name, sparePrefix) }

// IsSegment reports whether a file with this name is one that [Read] reads.
func IsSegment(name string) bool {
	_, ok := segmentNumber(name)
	return ok
}

// newFile makes the file of a segment, of a spare one if there is any, and writes its
// header. The file gets its name once the header is on the disk, so that no other
// header is ever found under that name. The name is not on the disk yet.
func (l *Log) newFile(h *header) (vfs.File, error) {
	draft, err := l.writeDraft(h)
	if err != nil {
		return nil, err
	}
	path := l.fs.PathJoin(l.dir, segmentName(h.number))
	if err := l.fs.Rename(draft, path); err != nil {
		return nil, err
	}
	file, err := l.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(file, make([]byte, h.size())); err != nil { // what is written next follows it
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// writeDraft writes a header to a spare file, or to a new one with such a name, and
// returns its path.
func (l *Log) writeDraft(h *header) (path string, err error) {
	var file vfs.File
	n := len(l.spares)
	if l.reused = n > 0; l.reused {
		path = l.fs.PathJoin(l.dir, l.spares[n-1])
		l.spares = l.spares[:n-1]
		file, err = l.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	} else {
		path = l.fs.PathJoin(l.dir, sparePrefix+segmentName(h.number))
		file, err = l.fs.Create(path, vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return "", err // some file systems return a file that is none
	}
	_, err = file.Write(h.append(nil))
	if err == nil {
		err = file.Sync()
	}
	return path, errors.Join(err, file.Close())
}

// discard removes the file of a segment, or makes it a spare one. It does not reuse a
// file that may be a part of a backup too, as may each file from before this opening.
func (l *Log) discard(number uint64) error {
	name := segmentName(number)
	path, spare := l.fs.PathJoin(l.dir, name), ""
	if l.wantsSpare(number) {
		spare = sparePrefix + name
	}
	var err error
	if spare == "" {
		err = l.fs.Remove(path)
	} else {
		err = l.fs.Rename(path, l.fs.PathJoin(l.dir, spare))
	}
	if err == nil {
		err = files.SyncDir(l.fs, l.dir)
	}
	if err == nil && spare != "" {
		l.addSpare(spare)
	}
	return err
}

// wantsSpare reports whether the file of a segment is to be used again.
func (l *Log) wantsSpare(number uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lazy && number >= l.first && number > l.shared && len(l.spares) < mostSpares
}

func (l *Log) addSpare(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spares = append(l.spares, name)
}

// removeSpares removes the spare files that the folder has.
func (l *Log) removeSpares() error {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return fmt.Errorf("embedded: listing %s: %w", l.dir, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, sparePrefix) {
			err = errors.Join(err, l.fs.Remove(l.fs.PathJoin(l.dir, name)))
		}
	}
	l.spares = nil
	return err
}

// Pin keeps drop from removing segments until unpin is called.
func (l *Log) Pin() (unpin func()) {
	l.addPins(1)
	return func() { l.addPins(-1) }
}

// IsPinned reports whether segments are kept for a copy.
func (l *Log) IsPinned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pins > 0
}

func (l *Log) addPins(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pins += n
}

// CopyTo copies the log as it is now, pinned, to another folder, and returns the last
// version in it. Complete segments are shared: they are never written again.
func (l *Log) CopyTo(ctx context.Context, dir string) (version int64, err error) {
	l.mu.Lock()
	version, number, size := l.last, l.number, l.size
	numbers := make([]uint64, 0, len(l.old))
	for _, s := range l.old {
		numbers = append(numbers, s.number)
	}
	l.mu.Unlock()
	for _, n := range numbers {
		if err := l.shareSegment(ctx, n, dir); err != nil {
			return 0, err
		}
	}
	name := segmentName(number)
	_, err = files.Copy(ctx, l.fs, l.fs.PathJoin(l.dir, name), l.fs.PathJoin(dir, name), size)
	return version, err
}

func (l *Log) shareSegment(ctx context.Context, number uint64, dir string) error {
	name := segmentName(number)
	from, to := l.fs.PathJoin(l.dir, name), l.fs.PathJoin(dir, name)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if l.fs.Link(from, to) == nil {
		l.mu.Lock()
		l.shared = max(l.shared, number)
		l.mu.Unlock()
		return nil
	}
	_, err := files.Copy(ctx, l.fs, from, to, -1)
	return err
}

// Keeper calls [Log.Confirm] at regular intervals. It has a goroutine of its own:
// the absorber's passes may take seconds.
type Keeper struct {
	log     *Log
	fault   *fault.Fault
	quit    chan struct{}
	running sync.WaitGroup
}

func NewKeeper(l *Log, f *fault.Fault) *Keeper {
	return &Keeper{log: l, fault: f, quit: make(chan struct{})}
}

// Start begins calling keep every interval, until stop or a fault of the disk.
func (k *Keeper) Start(interval time.Duration) {
	k.running.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-k.quit:
				return
			case <-k.fault.Raised():
				return
			case <-ticker.C:
			}
			if err := k.log.Confirm(); err != nil {
				_ = k.fault.Raise("syncing the log", err)
			}
		}
	})
}

// Stop ends what start began, and waits for it. It is called once.
func (k *Keeper) Stop() {
	close(k.quit)
	k.running.Wait()
}

// Histogram counts values in buckets with powers of two as bounds. It is safe
// for concurrent use.
type Histogram struct {
	sum, max atomic.Int64
	buckets  [64]atomic.Int64 // i: values up to 1<<i and above the bucket before
}

// Add counts a value, which is not negative.
func (h *Histogram) Add(value int64) {
	h.buckets[bits.Len64(uint64(max(value-1, 0)))].Add(1)
	h.sum.Add(value)
	for seen := h.max.Load(); value > seen && !h.max.CompareAndSwap(seen, value); seen = h.max.Load() {
	}
}

// Load returns the sum and the highest of the values, and how many each bucket has.
func (h *Histogram) Load() (sum, highest int64, buckets [64]int64) {
	for i := range h.buckets {
		buckets[i] = h.buckets[i].Load()
	}
	return h.sum.Load(), h.max.Load(), buckets
}
