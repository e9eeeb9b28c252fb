// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// SchemaVersion is what the header of a store said for some time.
type SchemaVersion struct {
	// Until is when another version replaced it, by the clock of the process that did; the
	// zero time for the present one.
	Until time.Time
	// Schema is the text of the schema: the sum of all programs that had written by
	// then. It is a block of persist.lock.
	Schema string
	// Indexes are the indexes that every write maintained.
	Indexes []StoredIndex
}

// StoredIndex is an index of a store's header.
type StoredIndex struct {
	KeyName string // as in keys: that of a unique index ends in _unique
	Layout  string // its fields, their kinds, and its options
	State   index.State
}

func newSchemaVersion(f format.Former) SchemaVersion {
	v := SchemaVersion{Until: f.Until, Schema: f.Catalog.Schema().Text()}
	for _, ix := range f.Catalog.Indexes() {
		v.Indexes = append(v.Indexes, StoredIndex(ix))
	}
	return v
}
