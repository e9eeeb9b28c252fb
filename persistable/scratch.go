// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"sync"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// scratch is memory that operations use one after the other. The engine copies the
// keys and values that it is given.
type scratch struct {
	id, key []byte
	value   []byte // the record about to be written, with its header
	entry   []byte // the value of an index entry
	now     index.Set
	before  index.Set
	claims  index.Claims
	strings wire.Strings // of the records that are read
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxKept is the largest buffer, in bytes, that a scratch keeps between operations.
const maxKept = 1 << 17

func getScratch() *scratch { return scratches.Get().(*scratch) }

func (s *scratch) release() {
	if cap(s.value) > maxKept || cap(s.entry) > maxKept {
		s.value, s.entry = nil, nil
	}
	s.strings = wire.Strings{} // a scratch keeps no memory of records
	scratches.Put(s)
}
