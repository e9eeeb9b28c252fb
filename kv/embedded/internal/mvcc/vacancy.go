// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"github.com/kazahana-db/kazahana/kv"
)

// vacancy is a range of keys in which a read found no values at its version.
//
// A cleared key stays in the window until the base has absorbed the clear, and in
// the base until a compaction. A read takes long to pass very many of them: a
// queue's consumer, which reads the first key and clears it, would pass all
// cleared ones each time. So a read that has passed many reports the range to the
// committer. Each later view has the range, and reads leap over it. The committer
// cuts a key that is set out of its range. Conflicts, base and log do not depend
// on vacancies.
type vacancy struct {
	keys    kv.KeyRange
	version int64
}

const (
	// MostVacancies is how many ranges without values are remembered.
	MostVacancies = 1024
	// mostHeard is how many reported ones may await the committer.
	mostHeard = 64
)
