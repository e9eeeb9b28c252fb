// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"slices"
)

// Owners waits for the reads and returns the packed ids of the records that own the
// keys, each once.
func (c *Claims) Owners(ctx context.Context, indexes []Index, entries *Set) (owners [][]byte, err error) {
	for _, r := range c.reads {
		value, err := r.owner.Get(ctx)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		owner, _, err := SplitUnique(indexes[r.index].Definition, entries.Key(r.index, r.n), value)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(owners, func(o []byte) bool { return bytes.Equal(o, owner) }) {
			owners = append(owners, slices.Clone(owner))
		}
	}
	return owners, nil
}
