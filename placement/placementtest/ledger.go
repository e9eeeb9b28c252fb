// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/placement"
)

// ledger notes which owner has which key.
type ledger struct {
	mu      sync.Mutex
	holders map[placement.Key]placement.Lease
	last    map[placement.Key]int64
	granted int
	faults  []string
}

func (b *ledger) check(ok bool, format string, args ...any) {
	if ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// noteGrant notes a lease that was granted. It can be given on only once its owner
// has noted that it gives it back, so that leases are noted in their order.
func (b *ledger) noteGrant(l placement.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.granted++
	if other, held := b.holders[l.Key]; held {
		b.faults = append(b.faults, fmt.Sprintf("%s got %s while %s had it", l.Owner, l.Key, other.Owner))
	}
	if l.Epoch <= b.last[l.Key] {
		b.faults = append(b.faults, fmt.Sprintf("%s got epoch %d of %s after epoch %d", l.Owner, l.Epoch, l.Key, b.last[l.Key]))
	}
	b.holders[l.Key], b.last[l.Key] = l, l.Epoch
}

// noteReturn notes that a lease is about to be given back.
func (b *ledger) noteReturn(l placement.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holders, l.Key)
}
