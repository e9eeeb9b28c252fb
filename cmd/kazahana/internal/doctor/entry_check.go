// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// entryCheck is the read of an entry that a record must have.
type entryCheck struct {
	index         *index.Index
	id, key, want []byte
	value         kv.Future[[]byte]
}

// fault compares an entry with what it should be.
func (c *entryCheck) fault(value []byte) *fault {
	switch {
	case value == nil:
		return newFault("index/missing-entry", c.key, "the record has no entry")
	case bytes.Equal(value, c.want):
		return nil
	case c.index.Unique:
		owner, _, err := index.SplitUnique(c.index.Definition, c.key, value)
		if err != nil {
			return newFault("index/bad-entry", c.key, "%v", err)
		}
		if !bytes.Equal(owner, c.id) {
			return newFault("index/wrong-owner", c.key, "the entry names the record %s", tuple.Describe(owner))
		}
	}
	return newFault("index/wrong-value", c.key, "the entry holds another copy of the record")
}
