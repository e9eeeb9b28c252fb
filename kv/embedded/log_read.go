// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// logEnd is how far a log goes. The zero value is no end.
type logEnd struct {
	segment uint64 // the newest; it has no frames
	version int64  // of the newest commit
}

// logReplay says what of a log is read, and what is known of it.
type logReplay struct {
	above         int64                                    // only commits of higher versions are given to apply
	apply         func(version int64, m mutation.Mutation) // is given the mutations in order
	closed        logEnd                                   // where the log ended when it was closed last
	must          bool                                     // there is a log: a folder without one is damaged
	beforeSegment func(size int64) error                   // unless nil, called before a segment of that size is read
}

// readLog replays the log of a folder, and writes nothing. After an error, the log
// that it returns tells how far it was read.
func readLog(o logOptions, r logReplay) (*log, error) {
	l := &log{fs: o.fs, dir: o.dir, lazy: o.lazy, cut: o.segmentSize}
	reader := logReader{logReplay: r, fs: o.fs, dir: o.dir, log: l}
	return l, reader.all()
}

// logReader replays a log.
type logReader struct {
	logReplay
	fs  vfs.FS
	dir string
	log *log // gets the segments
}

// open begins a new segment of a log that was read. Its last is then the highest
// version that was found, at least that which the base has absorbed.
func (l *log) open(absorbed int64) error {
	if err := l.reopen(); err != nil {
		return err
	}
	if err := l.removeSpares(); err != nil {
		return err
	}
	l.last = max(l.last, absorbed)
	return l.begin()
}

// reopen opens the segment that was written last, so that beginning the next
// one makes its valid part durable: a reader must not see what a later crash
// takes back.
func (l *log) reopen() (err error) {
	if l.number == 0 {
		return nil
	}
	l.file, err = l.fs.OpenReadWrite(l.fs.PathJoin(l.dir, segmentName(l.number)), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("embedded: opening the log: %w", err)
	}
	return nil
}

// all replays all segments.
func (r *logReader) all() error {
	numbers, err := listSegments(r.fs, r.dir)
	if err != nil {
		return err
	}
	newest := uint64(0)
	if len(numbers) > 0 {
		newest = numbers[len(numbers)-1]
	}
	switch {
	case newest < r.closed.segment:
		return r.corrupt(r.closed.segment, 0, "the file is gone: the database had it when it was closed")
	case newest == 0 && (r.must || r.above > 0):
		return r.corrupt(1, 0, "the files of the log are gone: the folder has other parts of a database, and is incomplete. To begin a new database, name another folder")
	}
	if err := r.replay(numbers); err != nil {
		return err
	}
	return r.checkEnd()
}

// checkEnd returns an error if the log lacks some of what it had when it was closed
// last.
func (r *logReader) checkEnd() error {
	found := max(r.log.last, r.above)
	if found < r.closed.version {
		return r.corrupt(r.closed.segment, 0, fmt.Sprintf("commits are missing: they end with version %d; they ended with %d when the database was closed", found, r.closed.version))
	}
	return nil
}

// listSegments returns the numbers of the segments in a folder, ascending.
func listSegments(fs vfs.FS, dir string) ([]uint64, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: listing %s: %w", dir, err)
	}
	var numbers []uint64
	for _, name := range names {
		stem, ok := strings.CutSuffix(name, ".log")
		if n, err := strconv.ParseUint(stem, 10, 64); ok && err == nil && segmentName(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (r *logReader) corrupt(number uint64, offset int64, reason string) error {
	return &fault.CorruptError{File: r.fs.PathJoin(r.dir, segmentName(number)), Offset: offset, Reason: reason}
}

// content is a segment in memory.
type content struct {
	header
	data []byte
}

// replay reads the segments, looking one ahead: the header of each says where
// the valid part of the one before ends.
func (r *logReader) replay(numbers []uint64) error {
	var at *content
	for i, n := range numbers {
		if i > 0 && n != numbers[i-1]+1 {
			return r.corrupt(numbers[i-1]+1, 0, "the file is gone")
		}
		next, err := r.load(n, i == len(numbers)-1)
		if err != nil {
			return err
		}
		if next == nil {
			break // the last segment was not begun
		}
		if at == nil && next.before > r.above {
			return r.corrupt(n-1, 0, "the file is gone")
		}
		if at != nil {
			if err := r.segment(at, next.beforeEnd); err != nil {
				return err
			}
			r.log.old = append(r.log.old, segment{at.number, r.log.last, next.beforeEnd})
			r.log.oldSize += next.beforeEnd
		}
		at = next
	}
	switch {
	case at != nil:
		return r.lastSegment(at)
	case r.must && len(numbers) > 0:
		return r.corrupt(numbers[0], 0, errHeader.Error())
	}
	return nil
}

// load reads a segment; nil if it is the last one and a crash has prevented its
// first write.
func (r *logReader) load(number uint64, last bool) (*content, error) {
	data, err := r.read(number)
	if err != nil {
		return nil, err
	}
	h, err := decodeHeader(data, number)
	switch {
	case err == nil:
		return &content{h, data}, nil
	case !last || number <= r.closed.segment || syncedBeyond(data, 0, number):
		return nil, r.corrupt(number, 0, err.Error())
	}
	return nil, nil
}

func (r *logReader) read(number uint64) (data []byte, err error) {
	name := r.fs.PathJoin(r.dir, segmentName(number))
	file, err := r.fs.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return nil, fmt.Errorf("embedded: opening the log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("embedded: reading %s: %w", name, err)
	}
	if r.beforeSegment != nil {
		if err := r.beforeSegment(info.Size()); err != nil {
			return nil, err
		}
	}
	data = make([]byte, info.Size())
	if len(data) == 0 {
		return data, nil
	}
	if _, err = io.ReadFull(file, data); err != nil {
		return nil, fmt.Errorf("embedded: reading %s: %w", name, err)
	}
	return data, nil
}

// segment replays a segment whose valid part ends at end.
func (r *logReader) segment(c *content, end int64) error {
	if end > int64(len(c.data)) {
		return r.corrupt(c.number, int64(len(c.data)), fmt.Sprintf("the file ends here; it had %d bytes", end))
	}
	c.data = c.data[:end]
	stop, err := r.frames(c)
	if err == nil && stop != end {
		err = r.corrupt(c.number, stop, "the record's checksum does not fit")
	}
	return err
}

// lastSegment replays the segment that was written last, as far as it is valid.
func (r *logReader) lastSegment(c *content) error {
	stop, err := r.frames(c)
	if err != nil {
		return err
	}
	size := int64(len(c.data))
	if stop < size {
		if reason := r.whyDamaged(c, stop); reason != "" {
			return r.corrupt(c.number, stop, reason)
		}
	}
	r.log.number, r.log.size = c.number, stop
	r.log.torn = size - stop
	return nil
}

// whyDamaged returns why the invalid bytes at stop are not what a crash has left,
// "" if they may be: see the rules at [frame].
func (r *logReader) whyDamaged(c *content, stop int64) string {
	next, f := nextFrame(c.data, stop+1, c.number)
	switch {
	case c.number == r.closed.segment:
		return "the file goes on behind what it had when the database was closed"
	case syncedBeyond(c.data, stop, c.number):
		return "the record's checksum does not fit, and valid ones follow that were written once it was on the disk"
	case f != nil && !lostSector(c.data, stop, next):
		return "the record's checksum does not fit, valid ones follow, and no sector between them is missing"
	}
	return ""
}

// frames replays the frames of a segment and returns where the valid ones end.
func (r *logReader) frames(c *content) (stop int64, err error) {
	stop = headerSize
	for {
		f, ok := decodeFrame(c.data[stop:], c.number)
		if !ok {
			return stop, nil
		}
		repeats := len(f.payload) == 0 && f.version == r.log.last
		if f.version <= r.log.last && !repeats {
			return stop, r.corrupt(c.number, stop, fmt.Sprintf("version %d follows %d", f.version, r.log.last))
		}
		r.log.last = f.version
		if f.version > r.above {
			err := decodeChanges(f.payload, func(m mutation.Mutation) { r.apply(f.version, m) })
			if err != nil {
				return stop, r.corrupt(c.number, stop, err.Error())
			}
		}
		stop = f.end(stop)
	}
}
