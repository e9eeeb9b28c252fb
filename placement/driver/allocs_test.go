// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
	"github.com/kazahana-db/kazahana/placement/memory"
)

func TestResolveActiveAllocatesNothing(t *testing.T) {
	m := alone(t, newHome(t, memory.Options{}), &executor{}, driver.Options{}, placement.Options{})
	key := keyOf("1")
	resolve(t, m, key)
	ctx := context.Background()
	allocs := testing.AllocsPerRun(1000, func() {
		if r, err := m.Resolve(ctx, key); err != nil || r.Locality != placement.Local {
			t.Errorf("got %+v and %v", r, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	stop(t, m)
}
