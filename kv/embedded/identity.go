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
const identityName = "IDENTITY"

// identify returns the name of the database in dir, giving it one if it has
// none yet.
func identify(fs vfs.FS, dir string) (string, error) {
	name := fs.PathJoin(dir, identityName)
	n, err := readNote(fs, name, "database")
	if err == nil {
		return n.field("id"), nil
	}
	if !errors.Is(err, iofs.ErrNotExist) {
		return "", fmt.Errorf("embedded: reading who %s is: %w", dir, err)
	}
	id := newID()
	draft := name + ".new"
	err = writeNote(fs, draft, note{kind: "database", fields: [][2]string{{"id", id}}})
	if err == nil {
		err = fs.Rename(draft, name)
	}
	if err == nil {
		err = syncDir(fs, dir)
	}
	if err != nil {
		return "", fmt.Errorf("embedded: naming the database in %s: %w", dir, err)
	}
	return id, nil
}

// newID returns 16 random bytes in hexadecimal.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
