// SPDX-License-Identifier: Apache-2.0

package lease

// lead is how many milliseconds ahead of the clock a lease may begin if none can
// begin at once, shortly after a release for instance. Its holder waits that
// long.
const lead = 1000

// window selects the blocks of the queue that a search looks at: those whose
// next lease begins at from or later and before until, by the queue. Of these it
// takes the ones whose lease begins at latestStart or before.
//
// A search with rewind looks for blocks that were granted by a clock far ahead:
// the time before that lease can still be granted.
type window struct {
	from, until, latestStart int64
	rewind                   bool
}
