// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"math"
	"runtime"
	"testing"
	"weak"
)

// TestReleasedViewsAreFreed lets the history drop the entries of views that are
// too old, and then release all others: none but the newest may stay in memory.
func TestReleasedViewsAreFreed(t *testing.T) {
	const views = 4000
	h := history{limit: math.MaxInt64}
	var all []weak.Pointer[View]
	for i := range views {
		v := &View{version: int64(i) * 4 * WindowVersions / views}
		all = append(all, weak.Make(v))
		h.add(v, 1)
	}
	if len(h.views) == views {
		t.Fatal("the history has dropped no entry: the test needs more views")
	}
	h.release()
	runtime.GC()
	for i, v := range all[:views-1] {
		if v.Value() != nil {
			t.Fatalf("view %d of %d is in memory, although it was released", i, views)
		}
	}
	runtime.KeepAlive(&h)
}
