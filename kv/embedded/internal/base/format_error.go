// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FormatError says that a newer version of this library wrote a database. Nothing
// is damaged and nothing was changed: open it with the newer version.
type FormatError struct {
	Dir    string // of the base
	Format int    // of the storage
	Newest int    // that this version reads
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("embedded: a newer version of Kazahana wrote %s: its storage has the format %d, and this version reads formats up to %d; open it with the newer version", e.Dir, e.Format, e.Newest)
}

// checkFormat returns a FormatError if the base has a format that this version
// does not know. Pebble has the format in the name of a file:
// marker.format-version.<iteration>.<format>, of which the highest iteration
// counts.
func checkFormat(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return nil // opening the base reports it
	}
	newest, format := -1, 0
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, "marker.format-version.")
		iteration, version, found := strings.Cut(rest, ".")
		i, err := strconv.Atoi(iteration)
		if !ok || !found || err != nil || i <= newest {
			continue
		}
		if v, err := strconv.Atoi(version); err == nil {
			newest, format = i, v
		}
	}
	if format > int(pebble.FormatNewest) {
		return &FormatError{Dir: dir, Format: format, Newest: int(pebble.FormatNewest)}
	}
	return nil
}
