// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// wantQuarantine checks that nothing is granted, and returns until when.
func (f *fixture) wantQuarantine(n *node) time.Time {
	f.Helper()
	_, err := n.Acquire(f.Context(), idgen.AcquireRequest{})
	var quarantine *lease.QuarantineError
	if !errors.As(err, &quarantine) || !errors.Is(err, lease.ErrQuarantine) || quarantine.ServiceID != lease.DefaultService {
		f.Fatalf("got %v, want a QuarantineError", err)
	}
	return quarantine.Until
}

// loseLeases forgets all leases of the default service, and tells so. What is left is
// what seldom changes: the service's record.
func (f *fixture) loseLeases(store failover) {
	f.Helper()
	for _, pair := range scan(f, store.Store, lease.DefaultService, []byte{0}, []byte{0xff}, 1000) {
		if pair.Key[0] != 's' {
			f.putPair(store.Store, pair.Key, nil)
		}
	}
	store.life.Add(1)
}

// waitQuarantine waits for the end of the quarantine, and returns how long that was.
func (f *fixture) waitQuarantine(n *node) time.Duration {
	f.Helper()
	took := time.Duration(f.wantQuarantine(n).UnixMilli()-f.now.Load()) * time.Millisecond
	f.advance(took)
	return took
}
