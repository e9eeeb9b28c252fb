// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/lease/memory"
)

func TestStore(t *testing.T) {
	stores := map[string]*memory.Store{}
	leasetest.Run(t, leasetest.Suite{Open: func(_ *testing.T, name string) lease.Store {
		if stores[name] == nil {
			stores[name] = memory.NewStore(nil)
		}
		return stores[name]
	}})
}

// TestRestarted checks that a provider waits for the end of leases that an earlier life
// of it may have granted, and another does not.
func TestRestarted(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		provider, err := memory.New(memory.Options{Restarted: restarted})
		if err != nil {
			t.Fatal(err)
		}
		_, err = provider.Acquire(t.Context(), idgen.AcquireRequest{})
		if errors.Is(err, lease.ErrQuarantine) != restarted {
			t.Errorf("restarted %t: got %v", restarted, err)
		}
	}
	if _, err := memory.New(memory.Options{Server: lease.Options{MaxLeases: -1}}); err == nil {
		t.Error("wrong options are accepted")
	}
}
