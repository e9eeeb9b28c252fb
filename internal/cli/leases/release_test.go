// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
)

// TestLastUsed checks that a lease is given back as unused only with the flag, and not because
// a clock is behind.
func TestLastUsed(t *testing.T) {
	g := idgen.Lease{Created: 1000, Expired: 2000}
	for _, c := range []struct {
		lastMs int64
		unused bool
		want   int64
	}{
		{1500, false, 1500},
		{1000, false, 1000},
		{999, false, 1000},
		{0, false, 1000},
		{1999, false, 1999},
		{2000, false, 1999},
		{9000, false, 1999},
		{1500, true, 999},
	} {
		if got := lastUsed(g, c.lastMs, c.unused); got != c.want {
			t.Errorf("last used at %d, unused %v: got %d, want %d", c.lastMs, c.unused, got, c.want)
		}
	}
}
