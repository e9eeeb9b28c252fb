// SPDX-License-Identifier: Apache-2.0

package commitlog

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

// Read replays the log of a folder, and writes nothing. After an error, the log
// that it returns tells how far it was read.
func Read(o Options, r Replay) (*Log, error) {
	l := &Log{fs: o.FS, dir: o.Dir, lazy: o.Lazy, cut: o.SegmentSize}
	reader := reader{Replay: r, fs: o.FS, dir: o.Dir, log: l}
	err := reader.all()
	l.countBacklog()
	return l, err
}

// reader replays a log.
type reader struct {
	Replay
	fs  vfs.FS
	dir string
	log *Log // gets the segments
}

// all replays all segments.
func (r *reader) all() error {
	numbers, err := List(r.fs, r.dir)
	if err != nil {
		return err
	}
	newest := uint64(0)
	if len(numbers) > 0 {
		newest = numbers[len(numbers)-1]
	}
	switch {
	case newest < r.Closed.Segment:
		return r.corrupt(r.Closed.Segment, 0, "the file is gone: the database had it when it was closed")
	case newest == 0 && (r.Must || r.Above > 0):
		return r.corrupt(1, 0, "the files of the log are gone: the folder has other parts of a database, and is incomplete. To begin a new database, name another folder")
	}
	if err := r.replay(numbers); err != nil {
		return err
	}
	return r.checkEnd()
}

// checkEnd returns an error if the log lacks some of what it had when it was closed
// last.
func (r *reader) checkEnd() error {
	found := max(r.log.last, r.Above)
	if found < r.Closed.Version && !r.Alone {
		return r.corrupt(r.Closed.Segment, 0, fmt.Sprintf("commits are missing: they end with version %d; they ended with %d when the database was closed", found, r.Closed.Version))
	}
	return nil
}

// List returns the numbers of the segments in a folder, ascending.
func List(fs vfs.FS, dir string) ([]uint64, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: listing %s: %w", dir, err)
	}
	var numbers []uint64
	for _, name := range names {
		if n, ok := segmentNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// segmentNumber returns the number of the segment that a file of this name is, and
// whether it is one.
func segmentNumber(name string) (uint64, bool) {
	stem, ok := strings.CutSuffix(name, ".log")
	n, err := strconv.ParseUint(stem, 10, 64)
	return n, ok && err == nil && segmentName(n) == name
}

func (r *reader) corrupt(number uint64, offset int64, reason string) error {
	return &fault.CorruptError{File: r.fs.PathJoin(r.dir, segmentName(number)), Offset: offset, Reason: reason}
}

// content is a segment in memory.
type content struct {
	header
	data   []byte
	synced int64 // up to where its frames say that it was on the disk
}

// replay reads the segments, looking one ahead: the header of each says where
// the valid part of the one before ends.
func (r *reader) replay(numbers []uint64) error {
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
		if at == nil && next.before > r.Above && !r.Alone {
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
	case r.Must && len(numbers) > 0:
		return r.corrupt(numbers[0], 0, errHeader.Error())
	}
	return nil
}

// load reads a segment; nil if it is the last one, of format 1, and a crash has prevented
// its first write.
func (r *reader) load(number uint64, last bool) (*content, error) {
	data, err := r.read(number)
	if err != nil {
		return nil, err
	}
	h, err := decodeHeader(data)
	if err == nil && h.number == number {
		return &content{header: h, data: data}, nil
	}
	if newer := newerFormat(data); newer > 0 {
		return nil, &fault.FormatError{Dir: r.fs.PathJoin(r.dir, segmentName(number)), Format: newer, Newest: format}
	}
	if !r.Old || !last || number <= r.Closed.Segment {
		return nil, r.corrupt(number, 0, errHeader.Error())
	}
	old := &content{header: header{format: oldFormat, number: number}, data: data}
	if s := newSearch(old, 0); s.next() != nil || s.work < 0 {
		return nil, r.corrupt(number, 0, errHeader.Error())
	}
	return nil, nil
}

func (r *reader) read(number uint64) (data []byte, err error) {
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
	if r.BeforeSegment != nil {
		if err := r.BeforeSegment(info.Size()); err != nil {
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

// segment replays a segment, of which the part up to end is valid.
func (r *reader) segment(c *content, end int64) error {
	switch size := int64(len(c.data)); {
	case end > size:
		return r.corrupt(c.number, size, fmt.Sprintf("the file ends here; it had %d bytes", end))
	case end < c.size():
		return r.corrupt(c.number+1, 0, fmt.Sprintf("its header says that %s ends at %d", segmentName(c.number), end))
	}
	c.data = c.data[:end]
	stop, err := r.frames(c)
	if err == nil && stop != end {
		err = r.corrupt(c.number, stop, "the record's checksum does not fit")
	}
	return err
}

// lastSegment replays the segment that was written last, as far as it is valid.
func (r *reader) lastSegment(c *content) error {
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
	r.log.unproven = slices.Clone(c.data[min(c.synced, stop):stop])
	r.log.torn = size - stop
	return nil
}

// whyDamaged returns why the invalid bytes at stop are not what a crash has left,
// "" if they may be: see the rules at [frame].
func (r *reader) whyDamaged(c *content, stop int64) string {
	if c.number == r.Closed.Segment {
		return "the file is longer than it was when the database was closed"
	}
	s, first := newSearch(c, stop), int64(-1)
	for f := s.next(); f != nil; f = s.next() {
		if f.synced > stop {
			return "the record's checksum does not fit, and valid ones follow that were written once it was on the disk"
		}
		if first < 0 {
			first = s.at
		}
	}
	switch {
	case first >= 0 && !lostSector(c.data, stop, first):
		return "the record's checksum does not fit, valid ones follow, and no sector between them is missing"
	case s.work < 0:
		return "the record's checksum does not fit, and too much that looks like the beginning of a record follows for telling what a crash has cut off"
	}
	return ""
}

// frames replays the frames of a segment and returns where the valid ones end.
func (r *reader) frames(c *content) (stop int64, err error) {
	stop = c.size()
	for {
		f, ok := c.decodeFrame(c.data[stop:], stop)
		if !ok {
			return stop, nil
		}
		repeats := len(f.payload) == 0 && f.version == r.log.last
		if f.version <= r.log.last && !repeats {
			return stop, r.corrupt(c.number, stop, fmt.Sprintf("version %d follows %d", f.version, r.log.last))
		}
		r.log.last, c.synced = f.version, max(c.synced, f.synced)
		if f.version > r.Above {
			err := decodeChanges(f.payload, func(m mutation.Mutation) { r.Apply(f.version, m) })
			if err != nil {
				return stop, r.corrupt(c.number, stop, err.Error())
			}
		}
		stop = f.end(stop)
	}
}
