// SPDX-License-Identifier: Apache-2.0

package lease

import "fmt"

// listBlocks fills the page with the leases of blocks.
func (tx *serviceTx) listBlocks(page *Page, pairs []Pair, limit int, ended bool) error {
	for _, pair := range pairs {
		b, err := tx.decodeBlock(pair.Key, pair.Value)
		if err != nil {
			return err
		}
		page.Next = fmt.Sprintf("%08x", b.base)
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
