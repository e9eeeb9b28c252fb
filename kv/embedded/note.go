// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	iofs "io/fs"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// A note is a small text file next to the data: a line with its kind and format,
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
// refuses a folder with a format newer than its own. Since format 2 the segments of
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
// of a newer format an [ErrNewer].
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
		return note{}, 0, fmt.Errorf("it is not a note of a kazahana %s", kind)
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

// closedName is the note that Close writes: how far the log went. It stays when
// the database is opened again, because it stays true: a folder never holds less
// than it says. So newer files of the log cannot get lost unnoticed, and a damaged
// record is not taken for one that a crash cut off.
const closedName = "CLOSED"

// closingNote is the note of how far the log went.
func closingNote(c commitlog.End) note {
	return note{kind: "closing", fields: [][2]string{
		{"segment", strconv.FormatUint(c.Segment, 10)},
		{"version", strconv.FormatInt(c.Version, 10)},
	}}
}

// writeClosing notes how far the log went.
func writeClosing(fs vfs.FS, dir string, c commitlog.End) error {
	if err := replaceNote(fs, dir, closedName, closingNote(c)); err != nil {
		return fmt.Errorf("writing %s: %w", fs.PathJoin(dir, closedName), err)
	}
	return nil
}

// readClosing returns how far the log went when the database was closed last, 0
// if it never was.
func readClosing(fs vfs.FS, dir string) (c commitlog.End, err error) {
	name := fs.PathJoin(dir, closedName)
	n, err := readNote(fs, name, "closing")
	if errors.Is(err, iofs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Segment, err = strconv.ParseUint(n.field("segment"), 10, 64)
	if err == nil {
		c.Version, err = strconv.ParseInt(n.field("version"), 10, 64)
	}
	if err != nil {
		return commitlog.End{}, &fault.CorruptError{File: name, Reason: err.Error()}
	}
	return c, nil
}

// identityName is the file that names the database of a folder. Each folder has
// its own: a backup that is opened or restored becomes another database.
//
// It is the last file that the first opening writes: a folder that has it has
// base and log, too.
const identityName = "IDENTITY"

// readIdentity returns the name of the database in dir, "" if it has none yet, and the
// format of the folder.
func readIdentity(fs vfs.FS, dir string) (id string, format int, err error) {
	n, err := readNote(fs, fs.PathJoin(dir, identityName), "database")
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return "", noteFormat, nil
	case err != nil:
		return "", noteFormat, fmt.Errorf("embedded: reading the identity of the database in %s: %w", dir, err)
	}
	return n.field("id"), n.format, nil
}

// writeIdentity gives the database in dir a name, and the folder this version's format.
func writeIdentity(fs vfs.FS, dir, id string) error {
	err := replaceNote(fs, dir, identityName, note{kind: "database", fields: [][2]string{{"id", id}}})
	if err != nil {
		return fmt.Errorf("embedded: naming the database in %s: %w", dir, err)
	}
	return nil
}

// newID returns 16 random bytes in hexadecimal.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
