// SPDX-License-Identifier: Apache-2.0

package lease

import "errors"

// bounds restrict the next lease of a block. Leases stay disjoint because each
// one moves the bounds, whatever any clock says.
type bounds struct {
	// NotBefore is the earliest start of the next lease.
	NotBefore int64 `json:"fence"`
	// EndNotBefore is the earliest end of the next lease. Until then the holder
	// before may make IDs with the fallback bit; the next holder begins to do so
	// when its own lease ends.
	EndNotBefore int64 `json:"carry"`
	// Future is a time ahead that was granted by a clock far ahead. The next
	// lease, with its continuation, ends before it or begins after it.
	Future *span `json:"future,omitempty"`
}

// span is the milliseconds [From, Until).
type span struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

func (o *bounds) validate() error {
	if o.NotBefore < 0 || o.EndNotBefore < 0 || o.Future != nil && o.Future.From >= o.Future.Until {
		return errors.New("it has a bound before 1970, or a future that ends before it begins")
	}
	return nil
}

// nextLease returns the earliest lease of a duration that the bounds permit at
// now. It begins later than NotBefore if it would else end before EndNotBefore.
// passed says that it begins after the future; the bounds then have to be moved
// behind that.
func (o bounds) nextLease(now, duration int64) (lease span, passed bool) {
	lease.From = max(now, o.NotBefore, o.EndNotBefore-duration)
	lease.Until = lease.From + duration
	if o.Future == nil || 2*lease.Until-lease.From <= o.Future.From {
		return lease, false
	}
	lease, _ = o.behindFuture().nextLease(now, duration)
	return lease, true
}

// behindFuture returns the bounds for a lease after the future.
func (o bounds) behindFuture() bounds {
	if o.Future == nil {
		return o
	}
	return bounds{NotBefore: max(o.NotBefore, o.Future.Until), EndNotBefore: max(o.EndNotBefore, o.Future.Until)}
}

// addFuture extends the future by another one.
func (o *bounds) addFuture(other *span) {
	switch {
	case other == nil:
	case o.Future == nil:
		o.Future = &span{From: other.From, Until: other.Until}
	default:
		o.Future = &span{From: min(o.Future.From, other.From), Until: max(o.Future.Until, other.Until)}
	}
}
