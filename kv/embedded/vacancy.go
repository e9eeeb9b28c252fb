// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"github.com/kazahana-db/kazahana/kv"
)

// vacancy is what a read has found out the hard way: that there are no values
// within the keys, at its version.
//
// A key that was cleared stays in the window until the base has taken that in,
// and in the base until that cleans itself. To go past very many of them takes
// time; a queue whose consumer reads the first key and clears it would go past
// all those before, each time. So who has gone past many tells the committer,
// which keeps the ranges in which there is nothing: from then on each view has
// them, and reads leap over them. What is set in such a range is cut out of it.
// Neither conflicts nor the base nor the log know of them; they are a hint that
// is always true.
type vacancy struct {
	keys    kv.KeyRange
	version int64
}

const (
	// mostVacancies is how many ranges without values are remembered.
	mostVacancies = 1024
	// mostHeard is how many of them await the committer.
	mostHeard = 64
)

// longRun is how many keys without a value a read must go past, one by one, to
// tell of it. Tests make it shorter.
var longRun = 64

// vacancyReports are what reads have found out and the committer has not taken in.
type vacancyReports struct {
	queue  chan vacancy
	attend func() // takes them in
}

func newVacancyReports() *vacancyReports {
	return &vacancyReports{queue: make(chan vacancy, mostHeard)}
}

// add passes on what a read has found out. It does not wait: what cannot be
// taken in is found again.
func (r *vacancyReports) add(v vacancy) {
	select {
	case r.queue <- v:
	default:
	}
	if r.attend != nil {
		r.attend()
	}
}
