// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// A note is a small text file beside the data: a line with its kind and format,
// a line for each field, and a checksum over them. Fields "needs" name features that a program
// must know which uses the folder. It is readable by people and
// written once.
type note struct {
	kind   string
	format int         // 0: noteFormat
	fields [][2]string // name, value
}

var noteTable = crc32.MakeTable(crc32.Castagnoli)

// noteFormat is the format of notes and of the folder they lie in. A program
// refuses a folder whose format is newer than its own. Since format 2 the segments of
// the log have a salt.
const noteFormat = 2

func (n note) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kazahana %s %d\n", n.kind, cmp.Or(n.format, noteFormat))
	for _, f := range n.fields {
		fmt.Fprintf(&b, "%s %s\n", f[0], f[1])
	}
	return b.String() + checksumLine(b.String())
}

// field returns the value of a field, or "".
func (n note) field(name string) string {
	for _, f := range n.fields {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

// writeNote writes a note under a name. The folder must be synced after.
func writeNote(fs vfs.FS, name string, n note) error {
	return files.WriteSynced(fs, name, []byte(n.text()))
}

// draftSuffix ends the name of a note that is to replace another.
const draftSuffix = ".new"

// replaceNote puts a note in the place of the one that a folder has, if any, at
// once: a crash leaves the one or the other. When it returns, it is on the disk.
func replaceNote(fs vfs.FS, dir, name string, n note) error {
	draft := fs.PathJoin(dir, name+draftSuffix)
	if err := writeNote(fs, draft, n); err != nil {
		return err
	}
	if err := fs.Rename(draft, fs.PathJoin(dir, name)); err != nil {
		return err
	}
	return files.SyncDir(fs, dir)
}

// readNote reads a note of the wanted kind. A damaged one is a [CorruptError], one
// of a newer format a [FormatError].
func readNote(fs vfs.FS, name, kind string) (note, error) {
	text, err := files.ReadBeginning(fs, name)
	if err != nil {
		return note{}, err
	}
	n, format, err := parseNote(text, kind)
	if err != nil {
		return note{}, &fault.CorruptError{File: name, Reason: err.Error()}
	}
	if needs := n.checkNeeds(); needs != nil || format > noteFormat {
		return note{}, &fault.FormatError{Dir: fs.PathDir(name), Format: format, Newest: noteFormat, Needs: needs}
	}
	return n, nil
}

// checkNeeds returns a [newer.Err] if the folder needs a feature that this version does not
// know.
func (n note) checkNeeds() error {
	var texts []string
	for _, f := range n.fields {
		if f[0] == "needs" {
			texts = append(texts, f[1])
		}
	}
	return newer.CheckWrite(newer.ParseNeeds(texts))
}

// parseNote returns the note that text is. Of one with a newer format it returns
// the format, and the fields as far as they are lines of a name and a value.
func parseNote(text, kind string) (n note, format int, err error) {
	found := ""
	if _, err := fmt.Sscanf(text, "kazahana %s %d\n", &found, &format); err != nil || found != kind {
		return note{}, 0, fmt.Errorf("it is no note of a kazahana %s", kind)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	n = note{kind: kind, format: format}
	for _, line := range lines[1:max(len(lines)-1, 1)] {
		name, value, _ := strings.Cut(line, " ")
		n.fields = append(n.fields, [2]string{name, value})
	}
	if format > noteFormat && hasChecksum(text) {
		return n, format, nil
	}
	if format < 1 || n.text() != text {
		return note{}, 0, errors.New("its checksum does not fit")
	}
	return n, format, nil
}

// hasChecksum reports whether the last line of text is the checksum of the lines
// before.
func hasChecksum(text string) bool {
	at := strings.LastIndex(text, "checksum ")
	return at >= 0 && text[at:] == checksumLine(text[:at])
}

func checksumLine(text string) string {
	return fmt.Sprintf("checksum %08x\n", crc32.Checksum([]byte(text), noteTable))
}
