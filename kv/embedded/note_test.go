// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
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

// TestNewerFormat opens a folder whose format is not known yet.
func TestNewerFormat(t *testing.T) {
	fs := filledDatabase(t)
	text := strings.Replace(note{kind: "database"}.text(), fmt.Sprint(" ", noteFormat), fmt.Sprint(" ", noteFormat+1), 1)
	text = text[:strings.Index(text, "checksum")]
	text += fmt.Sprintf("checksum %08x\n", crc32.Checksum([]byte(text), noteTable))
	overwrite(t, fs, "db/"+identityName, []byte(text))
	_, err := OpenWith("db", Options{FS: fs})
	if err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("opening gets %v", err)
	}
	if _, err := Verify(t.Context(), "db", Options{FS: fs}); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("verifying gets %v", err)
	}
}

// FuzzNote reads anything; what is read is what was written.
func FuzzNote(f *testing.F) {
	f.Add(BackupInfo{Database: "x", Version: 1}.note().text())
	f.Add(note{kind: "database"}.text())
	f.Add("kazahana database 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []string{"database", "backup"} {
			if n, err := parseNote(text, kind); err == nil && n.text() != text {
				t.Errorf("%q is read as %q", text, n.text())
			}
		}
	})
}
