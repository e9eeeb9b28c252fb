// SPDX-License-Identifier: Apache-2.0

package embedded

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
	// mostVacancies is how many ranges without values are remembered.
	mostVacancies = 1024
	// mostHeard is how many reported ones may await the committer.
	mostHeard = 64
)

// longRun is how many keys without a value a read must pass, one by one, before
// it reports them. Tests make it shorter.
var longRun = 64

// vacancyReports holds the vacancies that reads have reported and the committer
// has not added yet.
type vacancyReports struct {
	queue  chan vacancy
	notify func() // makes the committer add them
}

func newVacancyReports() *vacancyReports {
	return &vacancyReports{queue: make(chan vacancy, mostHeard)}
}

// add reports a vacancy. It does not wait: if the queue is full it drops v, and a
// later read finds it again.
func (r *vacancyReports) add(v vacancy) {
	select {
	case r.queue <- v:
	default:
	}
	if r.notify != nil {
		r.notify()
	}
}
