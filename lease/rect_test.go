// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// held is a lease as its holder uses it: IDs are made in the positions of the
// lease from Created up to end, and with the fallback bit set in the stretch
// that follows Expired, unless the lease was released.
type held struct {
	idgen.Lease
	end       int64 // Expired, or behind the last millisecond used
	continues bool
	released  bool // the server took note
}

// overlaps returns why two holders might make the same ID, "" if they cannot.
func (h held) overlaps(o held) string {
	size := func(l idgen.Lease) uint64 { return 1 << l.BitSeq }
	if h.Base() >= o.Base()+size(o.Lease) || o.Base() >= h.Base()+size(h.Lease) {
		return ""
	}
	if max(h.Created, o.Created) < min(h.end, o.end) {
		return fmt.Sprintf("leased twice: positions %d+%d in [%d, %d), positions %d+%d in [%d, %d)",
			h.Base(), size(h.Lease), h.Created, h.end, o.Base(), size(o.Lease), o.Created, o.end)
	}
	until := func(l idgen.Lease) int64 { return l.Expired + l.Duration().Milliseconds() }
	if h.continues && o.continues && h.Expired < until(o.Lease) && o.Expired < until(h.Lease) {
		return fmt.Sprintf("continued twice: positions %d+%d in [%d, %d), positions %d+%d in [%d, %d)",
			h.Base(), size(h.Lease), h.Expired, until(h.Lease), o.Base(), size(o.Lease), o.Expired, until(o.Lease))
	}
	return ""
}

// ledger is the naive model of a lease server: everything it ever granted.
type ledger struct{ all []held }

// add notes new leases, and returns why they must not have been granted.
func (l *ledger) add(leases []idgen.Lease) error {
	for _, lease := range leases {
		if err := lease.Validate(); err != nil {
			return err
		}
		granted := held{Lease: lease, end: lease.Expired, continues: true}
		for _, other := range l.all {
			if why := granted.overlaps(other); why != "" {
				return fmt.Errorf("%s\nnew: %+v\nold: %+v", why, granted, other)
			}
		}
		l.all = append(l.all, granted)
	}
	return nil
}
