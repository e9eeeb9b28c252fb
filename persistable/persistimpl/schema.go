// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Version5 is named by generated code of the fifth version. A program whose
// generated code and run-time do not fit does not compile.
const Version5 = 5

type (
	// Schema is what the run-time knows of a type.
	Schema = erased.Schema
	// Hooks call the methods of a record that come before a write.
	Hooks = erased.Hooks
	// PathElement is one element of a type's directory.
	PathElement = erased.PathElement
)

// NewStore returns the store of the schema's records for the directory
// arguments, one per {Field}. T is a pointer to the struct, ID the type of its
// ids.
func NewStore[T, ID any](db *persistable.DB, schema *Schema, args ...string) persistable.Store[T, ID] {
	return persistable.Store[T, ID](erased.NewStore[ID](erased.Runtime.Open(db, schema, args), schema))
}
