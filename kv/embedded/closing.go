// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strconv"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

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
