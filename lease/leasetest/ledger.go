// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/idgen"
)

// Ledger is the naive model of a lease server: everything it ever granted for
// one service, as the holders use it. The zero value is empty. It is safe for
// concurrent use.
type Ledger struct {
	mu  sync.Mutex
	all []ledgerEntry
}

// ledgerEntry is a lease as its holder uses it: IDs are made in the positions of the
// lease from Created up to end, and with the fallback bit set in the stretch
// that follows Expired, unless it was released.
type ledgerEntry struct {
	idgen.Lease
	end       int64 // Expired, or behind the last millisecond used
	continues bool
}

// AddGrant adds new leases. It returns an error if one is not valid, or could
// make an ID that another one in the ledger could make, too, be it with the
// fallback bit.
func (l *Ledger) AddGrant(leases ...idgen.Lease) error {
	for _, lease := range leases {
		if err := l.add(lease, 0); err != nil {
			return err
		}
	}
	return nil
}

// add adds a lease; one that was released already, after lastTs, if that is not
// 0.
func (l *Ledger) add(lease idgen.Lease, lastTs int64) error {
	if err := lease.Validate(); err != nil {
		return err
	}
	granted := ledgerEntry{Lease: lease, end: lease.Expired, continues: true}
	if lastTs != 0 {
		granted.end, granted.continues = lastTs+1, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.all {
		if why := granted.overlapWith(other); why != "" {
			return fmt.Errorf("leasetest: %s\nnew: %+v\nold: %+v", why, granted, other)
		}
	}
	l.all = append(l.all, granted)
	return nil
}

// AddRelease notes that the holder makes no ID under the lease after lastTs, and
// does not continue it.
func (l *Ledger) AddRelease(lease idgen.Lease, lastTs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.all, func(h ledgerEntry) bool { return h.Lease == lease }); i >= 0 {
		l.all[i].end, l.all[i].continues = lastTs+1, false
	}
}

// Len returns the number of leases that were granted.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// overlapWith returns why two holders might make the same ID, "" if they cannot.
func (h ledgerEntry) overlapWith(o ledgerEntry) string {
	hSize, oSize := uint64(h.ThroughputPerMs()), uint64(o.ThroughputPerMs())
	if h.Base() >= o.Base()+oSize || o.Base() >= h.Base()+hSize {
		return ""
	}
	if max(h.Created, o.Created) < min(h.end, o.end) {
		return "leased twice"
	}
	until := func(l idgen.Lease) int64 { return l.Expired + l.Duration().Milliseconds() }
	if h.continues && o.continues && max(h.Expired, o.Expired) < min(until(h.Lease), until(o.Lease)) {
		return "continued twice"
	}
	return ""
}
