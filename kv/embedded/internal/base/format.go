// SPDX-License-Identifier: Apache-2.0

package base

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// formatOfBase is the format of new bases, 24, and the one that older ones get when they
// are opened. Every release so far has written it, as the newest that its Pebble knew. It
// does not follow Pebble's newest: that would change folders for good, so that no
// older release could open them, with an update of a dependency. A newer one is a change of
// the folder's format: see docs/layout.md.
const formatOfBase = pebble.FormatValueSeparation

// checkFormat returns a [fault.FormatError] if the base has a format that this version
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
		return &fault.FormatError{Dir: dir, Format: format, Newest: int(pebble.FormatNewest)}
	}
	return nil
}
