// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// listBlocks fills the page with the leases of the blocks that can be read. damage says which
// cannot.
func (tx *serviceTx) listBlocks(page *Page, pairs []Pair, limit int, ended bool) (damage error) {
	var faults []error
	defer func() { damage = errors.Join(faults...) }()
	for _, pair := range pairs {
		page.Next = fmt.Sprintf("%08x", nearestBase(pair.Key))
		b, err := tx.decodeBlock(pair.Key, pair.Value)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if b.Holder == nil {
			continue
		}
		if info := newInfo(b, tx.now); info.Active || ended {
			page.Leases = append(page.Leases, info)
		}
		if len(page.Leases) == limit {
			return nil
		}
	}
	if len(pairs) < maxPage {
		page.Next = ""
	}
	return nil
}

// nearestBase returns the base in the key of a block; of one that is no block's key, one after
// which no key before it is read again.
func nearestBase(key []byte) uint32 {
	var base [4]byte
	copy(base[:], key[1:])
	return binary.BigEndian.Uint32(base[:])
}
