// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

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
