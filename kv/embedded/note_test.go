// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// TestNote writes a backup's note, reads it, and damages every byte of it.
func TestNote(t *testing.T) {
	fs := vfs.NewMem()
	want := BackupInfo{Database: newID(), Version: 1795240424646330, Time: time.Date(2026, 11, 21, 6, 0, 0, 123, time.UTC)}
	if err := writeNote(fs, backupName, want.note()); err != nil {
		t.Fatal(err)
	}
	got, err := readBackup(fs, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("the note read (-want +got):\n%s", diff)
	}
	text := want.note().text()
	for at := range text {
		damaged := []byte(text)
		damaged[at] ^= 1
		overwrite(t, fs, backupName, damaged)
		if _, err := readBackup(fs, ""); !errors.As(err, new(*fault.CorruptError)) {
			t.Errorf("with %q for %q at %d: %v, want a CorruptError", damaged[at], text[at], at, err)
		}
	}
	for size := range text {
		overwrite(t, fs, backupName, []byte(text[:size]))
		if _, err := readBackup(fs, ""); err == nil {
			t.Errorf("the first %d bytes of %d are a note", size, len(text))
		}
	}
}

// TestFormats reads the notes of folders that earlier versions wrote, and writes them.
func TestFormats(t *testing.T) {
	backup := BackupInfo{Database: "ddd36dc972c221e08bf1eab7f8703065", Version: 1795240424646330, Time: time.Date(2026, 11, 21, 6, 0, 0, 123, time.UTC)}
	closing := commitlog.End{Segment: 6, Version: 1795240424646330}
	formats.Check(t, formats.Format{
		Name: "embedded/notes",
		Write: func(t *testing.T) (example string) {
			fs := vfs.NewMem()
			if err := errors.Join(writeIdentity(fs, "", backup.Database), writeClosing(fs, "", closing), writeNote(fs, backupName, backup.note())); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"IDENTITY", "CLOSED", "BACKUP"} {
				text, err := files.ReadBeginning(fs, name)
				if err != nil {
					t.Fatal(err)
				}
				example += name + "\n" + text + "\n"
			}
			return example
		},
		Read: func(t *testing.T, example string) {
			fs := vfs.NewMem()
			for text := range strings.SplitSeq(strings.TrimSuffix(example, "\n"), "\n\n") {
				name, content, _ := strings.Cut(strings.TrimSuffix(text, "\n")+"\n", "\n")
				overwrite(t, fs, name, []byte(content))
			}
			p, err := readParts(fs, "")
			if err != nil || p.identity != backup.Database || p.closed != closing || *p.backup != backup {
				t.Errorf("the notes say %+v, %v", p, err)
			}
		},
	})
}

// TestNewerFormat opens folders that a newer version wrote: their own format, or
// that of the base, is not known yet.
func TestNewerFormat(t *testing.T) {
	for name, folder := range map[string]struct {
		change func(t *testing.T, fs vfs.FS)
		want   fault.FormatError
	}{
		"folder": {useNewerNote, fault.FormatError{Dir: "db", Format: noteFormat + 1, Newest: noteFormat}},
		"base":   {useNewerBase, fault.FormatError{Dir: "db/" + baseDir, Format: 9999, Newest: int(pebble.FormatNewest)}},
	} {
		t.Run(name, func(t *testing.T) {
			fs := filledDatabase(t)
			folder.change(t, fs)
			before := contentsOf(t, fs, "db")
			for _, o := range []Options{{FS: fs}, {FS: fs, ReadOnly: true}} {
				_, err := Open("db", o)
				checkFormatError(t, err, folder.want)
			}
			_, err := Verify(t.Context(), "db", Options{FS: fs})
			checkFormatError(t, err, folder.want)
			if diff := cmp.Diff(before, contentsOf(t, fs, "db")); diff != "" {
				t.Errorf("the folder has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestNeededFeature opens folders that need a feature which this version does not know, of its own
// format and of a newer one.
func TestNeededFeature(t *testing.T) {
	for _, format := range []int{noteFormat, noteFormat + 1} {
		fs := filledDatabase(t)
		n := note{kind: "database", format: format, fields: [][2]string{{"id", "x"}, {"needs", "split v0.3.0"}, {"needs", "sums v0.4.0"}}}
		overwrite(t, fs, "db/"+identityName, []byte(n.text()))
		before := contentsOf(t, fs, "db")
		_, wrong := Verify(t.Context(), "db", Options{FS: fs})
		for _, o := range []Options{{FS: fs}, {FS: fs, ReadOnly: true}} {
			_, err := Open("db", o)
			for _, err := range []error{err, wrong} {
				var got *fault.FormatError
				if !errors.As(err, &got) || !errors.Is(err, ErrNewer) || got.Format != format || errors.As(err, new(*fault.CorruptError)) ||
					!strings.Contains(err.Error(), "needs split, sums, which this program does not know: run version v0.4.0 or later") {
					t.Errorf("format %d: %v", format, err)
				}
			}
		}
		if diff := cmp.Diff(before, contentsOf(t, fs, "db")); diff != "" {
			t.Errorf("the folder has changed (-before +after):\n%s", diff)
		}
	}
}

// checkFormatError checks that err wraps the FormatError want, which names the
// folder and says what to do, and that it reports no damage.
func checkFormatError(t *testing.T, err error, want fault.FormatError) {
	t.Helper()
	var got *fault.FormatError
	if !errors.As(err, &got) || *got != want || !errors.Is(err, ErrNewer) || errors.As(err, new(*fault.CorruptError)) {
		t.Fatalf("the error is %v, want %v", err, &want)
	}
	if text := err.Error(); !strings.Contains(text, want.Dir) || !strings.Contains(text, "open it with the newer version") {
		t.Errorf("the error is %q, without the folder or the advice", text)
	}
}

// useNewerNote gives the identity of the database a newer format.
func useNewerNote(t *testing.T, fs vfs.FS) {
	text := strings.Replace(note{kind: "database"}.text(), fmt.Sprint(" ", noteFormat), fmt.Sprint(" ", noteFormat+1), 1)
	text = text[:strings.Index(text, "checksum")]
	overwrite(t, fs, "db/"+identityName, []byte(text+checksumLine(text)))
}

// useNewerBase gives the storage of the base a newer format.
func useNewerBase(t *testing.T, fs vfs.FS) {
	t.Helper()
	if err := files.WriteSynced(fs, fs.PathJoin("db", baseDir, "marker.format-version.999999.9999"), nil); err != nil {
		t.Fatal(err)
	}
}

// FuzzNote reads anything; what is read is what was written.
func FuzzNote(f *testing.F) {
	f.Add(BackupInfo{Database: "x", Version: 1}.note().text())
	f.Add(note{kind: "database"}.text())
	f.Add("kazahana database 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []string{"database", "backup"} {
			n, format, err := parseNote(text, kind)
			if err == nil && format <= noteFormat && n.text() != text {
				t.Errorf("%q is read as %q", text, n.text())
			}
		}
	})
}
