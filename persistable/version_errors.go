// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"fmt"
)

// ErrVersionPending: the transaction itself has written what was asked for, so its
// version is known only after the commit. If another Tx of the same transaction has written
// it ([DB.In] was called twice), the transaction cannot commit any more: use one Tx.
var ErrVersionPending = errors.New("persistable: the transaction has changed this itself; its version is known after the commit")

// NoVersionsError says that the records of a type, or of a directory, have no versions.
type NoVersionsError struct {
	Type  string
	Index string // the version index that is not built; empty if the type has none
}

// Error implements error.
func (e *NoVersionsError) Error() string {
	if e.Index != "" {
		return fmt.Sprintf("persistable: the versions of %s are not complete: run Indexes().Build", e.Type)
	}
	return fmt.Sprintf("persistable: %s has no versions: add a field of type persistable.Version, blank or with a name, and run persistgen", e.Type)
}

// PrunedError says that deletions behind a version were forgotten, by Feed().Prune or
// because the versions were built again: a reader that has seen nothing since then must begin
// anew, with the zero Version; a consumer, after RemoveConsumer.
type PrunedError struct {
	Type   string
	Since  Version // where the reader is
	Pruned Version // up to where deletions were forgotten
}

// Error implements error.
func (e *PrunedError) Error() string {
	return fmt.Sprintf("persistable: the deletions of %s up to %v were forgotten, and the reader has come to %v: compare all records, and begin anew with the zero Version, a consumer after RemoveConsumer", e.Type, e.Pruned, e.Since)
}

// BehindError says that Feed().Prune would remove deletions that a consumer has not seen.
type BehindError struct {
	Type  string
	Group string  // the consumer
	At    Version // how far it has come
}

// Error implements error.
func (e *BehindError) Error() string {
	return fmt.Sprintf("persistable: the consumer %q of %s has come to %v only: let it run, remove it with RemoveConsumer, or force the pruning", e.Group, e.Type, e.At)
}

// RestoredError says that the database's versions are lower than one that was stored: its
// contents come from a database with higher versions, by a restore.
type RestoredError struct {
	Type string
	Last Version // the highest stored version
	Read int64   // the version of the database
}

// Error implements error.
func (e *RestoredError) Error() string {
	return fmt.Sprintf("persistable: %s was last changed at %v, and the database has only come to version %d: it was restored with lower versions; advance them before anything is written (fdbcli advanceversion)", e.Type, e.Last, e.Read)
}
