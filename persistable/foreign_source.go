// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
)

// foreignSource is what makes a record's entries in a foreign index.
type foreignSource struct {
	program *reindex.Program // nil: the entries are those in the program's index own, which is recounted
	own     int
}

// appendEntries adds the entries of the record v with that payload.
func (f foreignSource) appendEntries(r *record, e *index.Entries, v any, payload []byte) error {
	if f.program != nil {
		return f.program.Entries(payload, e)
	}
	return r.AppendEntries(f.own, e, v)
}
