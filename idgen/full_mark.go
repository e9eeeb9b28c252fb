// SPDX-License-Identifier: Apache-2.0

package idgen

import "sync/atomic"

// fullMark remembers the last timestamp that was found used up.
type fullMark struct{ ts atomic.Uint64 }

// markFull reports whether ts was not marked before.
func (f *fullMark) markFull(ts uint64) bool { return f.ts.Load() != ts && f.ts.Swap(ts) != ts }
