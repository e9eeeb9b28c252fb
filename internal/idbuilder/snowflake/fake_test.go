// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

// faults of a store; the zero value is none.
type faults struct {
	mu  sync.Mutex
	put func() storetest.Fault // of a Put; nil: none
}

func (f *faults) set(put func() storetest.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put = put
}

func (f *faults) decide(c storetest.Call) storetest.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.put == nil || c.Method != "Put" {
		return storetest.Fault{}
	}
	return f.put()
}

// shaky returns faults for a part of the calls: half of these are made and report an error,
// the others are not made.
func shaky(r *rand.Rand, part float64) func() storetest.Fault {
	return func() storetest.Fault {
		x := r.Float64() / part
		return storetest.Fault{Fail: x < 0.5, Lose: x >= 0.5 && x < 1}
	}
}

// deleteAll loses all documents.
func deleteAll(t *testing.T, s store.Store) {
	t.Helper()
	docs, err := s.List(t.Context(), store.Leases, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if err := s.Delete(t.Context(), store.Leases, doc.Key, doc.Version); err != nil {
			t.Fatal(err)
		}
	}
}
