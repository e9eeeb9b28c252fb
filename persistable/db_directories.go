// SPDX-License-Identifier: Apache-2.0

package persistable

import "github.com/kazahana-db/kazahana/directory"

// Layer returns the directory layer in which the directories of the types are.
func (db *DB) Layer() *directory.Layer {
	db.mustBeOpen()
	return db.options.Layer
}

// HoldsSystem reports whether the directory at path is one that the DB itself needs,
// or one above: that of page tokens, or that of the leases on machine ids. Such a
// directory must not be moved, copied over or removed.
func (db *DB) HoldsSystem(path ...string) bool {
	db.mustBeOpen()
	return db.holdsSystem(path)
}
