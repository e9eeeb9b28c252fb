// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"

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
