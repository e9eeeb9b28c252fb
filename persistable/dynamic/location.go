// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/persistable"
)

// Location is where a store is: the directory and the type of its records.
type Location struct {
	Path []string
	Type string
}

// String shows the location to people.
func (l Location) String() string { return fmt.Sprintf("%q of %s", strings.Join(l.Path, "/"), l.Type) }

// Stores yields the stores in the directory at the path and below it, all of the database
// without a path, by their headers: each directory before those in it, in the order of
// the names, and in a directory the types in their order. A directory that is removed
// during the walk is left out. If there is no directory at the path, the error is
// [persistable.ErrNotFound]. Directories that cannot be read hide no others: the error comes
// last, and joins theirs.
//
// Cost: for each directory a transaction of its own, with one round of reads for each
// type and two more, and another one for each thousand directories in it.
func Stores(ctx context.Context, db *persistable.DB, path ...string) iter.Seq2[Location, error] {
	return func(yield func(Location, error) bool) {
		for found, err := range headers.Walk(ctx, db.Engine(), db.Layer(), path) {
			if errors.Is(err, directory.ErrNotFound) {
				err = fmt.Errorf("%w: %w", persistable.ErrNotFound, err)
			}
			if !yield(Location{found.Path, found.Type}, err) {
				return
			}
		}
	}
}

// ErrSeveralTypes: [Open] got no type for a directory that has stores of several types, which
// the text names: name one.
var ErrSeveralTypes = errors.New("dynamic: the directory has stores of several types")
