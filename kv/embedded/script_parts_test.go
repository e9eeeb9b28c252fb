// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// parts returns the parts of the engine as lines, with their names, in order.
func (s *script) parts() [][2]string {
	disk := s.mem.CrashClone(vfs.CrashCloneCfg{}) // what a loss of power would leave
	return [][2]string{
		{"window", s.windowText()},
		{"log", s.logText(disk)},
		{"vacancies", s.vacanciesText()},
		{"base", s.baseText(disk)},
	}
}

// printChanges prints the lines that the step has taken from the parts of the engine,
// and those that it has added.
func (s *script) printChanges() {
	if s.db == nil {
		return
	}
	for _, part := range s.parts() {
		before, now := strings.Split(s.shown[part[0]], "\n"), strings.Split(part[1], "\n")
		s.shown[part[0]] = part[1]
		s.printLines(part[0], "- ", slices.DeleteFunc(slices.Clone(before), func(line string) bool { return slices.Contains(now, line) }))
		s.printLines(part[0], "+ ", slices.DeleteFunc(now, func(line string) bool { return slices.Contains(before, line) }))
	}
}

// show prints the parts of the engine as they are.
func (s *script) show(*datadriven.TestData) {
	for _, part := range s.parts() {
		s.shown[part[0]] = part[1]
		s.printLines(part[0], "  ", strings.Split(part[1], "\n"))
	}
}

// printLines prints the lines that have text, each after a name and a sign.
func (s *script) printLines(name, sign string, lines []string) {
	for _, line := range lines {
		if line != "" {
			s.printf("%-9s %s%s", name, sign, line)
		}
	}
}

// windowText has a line for what the window says of a key, and one for what it says
// of the keys after it, up to the next one.
func (s *script) windowText() string {
	var b strings.Builder
	entries := s.db.windowEntries()
	for i, e := range entries {
		hidden := ""
		if !e.viewed {
			hidden = ", not in a view"
		}
		switch {
		case e.Point == mvcc.Present:
			fmt.Fprintf(&b, "%s=%s @%s%s\n", quote(e.Key), quote(e.Value), s.version(e.Version), hidden)
		case e.Point == mvcc.Absent:
			fmt.Fprintf(&b, "%s cleared @%s%s\n", quote(e.Key), s.version(e.Version), hidden)
		case i > 0:
			fmt.Fprintf(&b, "%s unknown%s\n", quote(e.Key), hidden)
		}
		if e.Gap == mvcc.Absent && i+1 < len(entries) {
			fmt.Fprintf(&b, "(%s, %s) cleared @%s%s\n", quote(e.Key), quote(entries[i+1].Key), s.version(e.GapVersion), hidden)
		}
	}
	return b.String()
}

func (s *script) vacanciesText() string {
	var b strings.Builder
	for _, r := range s.db.newestVacancies() {
		fmt.Fprintf(&b, "%s\n", rangeText(r))
	}
	return b.String()
}

// baseText has the pairs of the base, and up to which version it has absorbed what was
// committed.
func (s *script) baseText(disk vfs.FS) string {
	pairs, err := basePairs(s.db.disk.base)
	if err != nil {
		s.t.Fatal(err)
	}
	flushed, err := base.ReadAbsorbed(disk, disk.PathJoin(s.dir, baseDir))
	if err != nil {
		s.t.Fatal(err)
	}
	absorbed := s.db.disk.base.AbsorbedVersion()
	text := fmt.Sprintf("absorbed up to %s", s.version(absorbed))
	if flushed != absorbed {
		text += fmt.Sprintf(", on the disk up to %s", s.version(flushed))
	}
	for _, p := range pairs {
		text += "\n" + quote(p.Key) + "=" + quote(p.Value)
	}
	return text
}

func basePairs(b *base.Base) (pairs []kv.KeyValue, err error) {
	var i base.Iterator
	if err := i.Open(b, nil, nil); err != nil {
		return nil, err
	}
	for ok := i.Seek(nil); ok; ok = i.Next() {
		pairs = append(pairs, kv.KeyValue{Key: append([]byte{}, i.Key()...), Value: append([]byte{}, i.Value()...)})
	}
	if err := i.Err(); err != nil {
		return nil, err
	}
	return pairs, i.Close()
}

// scriptFrame is a frame of a log file: what one version wrote.
type scriptFrame struct {
	version int64
	end     int
}

// logText has a line for each segment of the log, and one for each of its frames.
func (s *script) logText(disk vfs.FS) string {
	numbers, err := commitlog.List(s.mem, s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	writes := s.loggedWrites(numbers)
	for _, n := range numbers {
		fmt.Fprintf(&b, "segment %d\n", n)
		_, synced := logFrames(disk, s.dir, n)
		frames, _ := logFrames(s.mem, s.dir, n)
		for i, f := range frames {
			text := writes[f.version]
			if i > 0 && frames[i-1].version == f.version {
				text = " again"
			}
			if f.end > synced {
				text += ", not synced"
			}
			fmt.Fprintf(&b, "segment %d @%s%s\n", n, s.version(f.version), text)
		}
	}
	return b.String()
}

// loggedWrites returns what each version in the log wrote.
func (s *script) loggedWrites(numbers []uint64) map[int64]string {
	writes := map[int64]string{}
	if len(numbers) == 0 {
		return writes
	}
	above := int64(0)
	if data := logFile(s.mem, s.dir, numbers[0]); len(data) >= 44 {
		above = int64(binary.LittleEndian.Uint64(data[24:])) // the last version before
	}
	apply := func(version int64, m mutation.Mutation) { writes[version] += " " + mutationText(&m) }
	if _, err := commitlog.Read(commitlog.Options{FS: s.mem, Dir: s.dir}, commitlog.Replay{Above: above, Apply: apply}); err != nil {
		s.t.Fatal(err)
	}
	return writes
}

func mutationText(m *mutation.Mutation) string {
	switch {
	case m.Op == mutation.OpClearRange:
		return "clear " + rangeText(kv.KeyRange{Begin: m.Key, End: m.Value})
	case m.Value == nil:
		return "clear " + quote(m.Key)
	}
	return quote(m.Key) + "=" + quote(m.Value)
}

// logFrames returns the frames of a segment, and where the last one ends. A segment
// has a header of 44 bytes, a frame a head of 28: docs/layout.md.
func logFrames(fs vfs.FS, dir string, number uint64) (frames []scriptFrame, end int) {
	data := logFile(fs, dir, number)
	for end = 44; end+28 <= len(data) && bytes.HasPrefix(data[end:], data[32:36]); {
		size := int(binary.LittleEndian.Uint32(data[end+4:]))
		f := scriptFrame{version: int64(binary.LittleEndian.Uint64(data[end+8:])), end: end + 28 + size}
		if f.end > len(data) {
			break
		}
		frames, end = append(frames, f), f.end
	}
	return frames, end
}

// logFile returns what a segment's file holds, nothing if there is none.
func logFile(fs vfs.FS, dir string, number uint64) []byte {
	f, err := fs.Open(fs.PathJoin(dir, logName(int(number))))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(f)
	return data
}

// conflictsText has the write conflict ranges that the resolver knows in addition to the keys
// of the window.
func (s *script) conflictsText() string {
	var b strings.Builder
	for _, r := range s.db.conflictSteps() {
		fmt.Fprintf(&b, "%s @%s\n", rangeText(r.KeyRange), s.version(r.version))
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()
}

// This file is all of the scripts' code that looks into the committer, the window and
// the absorber.

// windowEntry is an entry of the window.
type windowEntry struct {
	mvcc.EntryInfo
	viewed bool // the newest view has it
}

// windowEntries returns what the window holds, with commits that are not on the disk
// yet.
func (db *Database) windowEntries() (entries []windowEntry) {
	db.committer.Inspect(func(w *mvcc.Window, _ *mvcc.Resolver) {
		for e := range w.Entries() {
			entries = append(entries, windowEntry{EntryInfo: e})
		}
	})
	viewed := map[string]mvcc.EntryInfo{}
	for e := range db.head.Published().Entries() {
		viewed[string(e.Key)] = e
	}
	for i := range entries {
		e := &entries[i]
		v, ok := viewed[string(e.Key)]
		e.viewed = ok && v.Version == e.Version && v.GapVersion == e.GapVersion
	}
	return entries
}

// newestVacancies returns the vacancies of the newest view.
func (db *Database) newestVacancies() (all []kv.KeyRange) {
	vacant := db.head.Published().Vacancies()
	for key := []byte{}; key != nil; {
		r, in := vacant.Around(key, false)
		if in {
			all = append(all, r)
		}
		if key = r.End; bytes.Equal(key, []byte{0xff, 0xff}) {
			return all
		}
	}
	return all
}

// scanNewest reads a range of the newest view as range reads do. It returns how many
// entries of the window without a value it passed one by one, and how many steps it made
// in the base.
func (db *Database) scanNewest(begin, end []byte) (pairs []kv.KeyValue, passed, steps int, err error) {
	s := db.head.Newest().NewScan(nil)
	s.SetBounds(begin, end)
	for key, value, ok := s.Seek(begin); ok && bytes.Compare(key, end) < 0; key, value, ok = s.Next() {
		pairs = append(pairs, kv.KeyValue{Key: bytes.Clone(key), Value: bytes.Clone(value)})
	}
	passed, steps = s.Passed()
	return pairs, passed, steps, s.Close()
}

// reportVacancy tells the committer that a read at a version found no values.
func (db *Database) reportVacancy(r kv.KeyRange, version int64) {
	db.head.Published().ReportVacancy(r, version)
}

// absorb does what the absorber does from time to time.
func (db *Database) absorb() error { return db.disk.absorber.Pass() }

// absorbUpTo moves what was committed up to a version to the base.
func (db *Database) absorbUpTo(version int64) error { return db.disk.absorber.AbsorbTo(version) }

// flushBase brings the base to the disk.
func (db *Database) flushBase() error { return db.disk.base.Store().Flush() }

// conflictStep is a range with the version of the last write conflict range over it.
type conflictStep struct {
	kv.KeyRange
	version int64
}

// conflictSteps returns the write conflict ranges that the resolver knows in addition to the
// keys that the window tells it of.
func (db *Database) conflictSteps() (all []conflictStep) {
	db.committer.Inspect(func(_ *mvcc.Window, r *mvcc.Resolver) {
		for keys, version := range r.Steps() {
			if keys.End == nil {
				keys.End = []byte{0xff, 0xff}
			}
			if version > 0 {
				all = append(all, conflictStep{keys, version})
			}
		}
	})
	return all
}
