// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// Stage is a set of contests on the same stores.
type Stage struct {
	Name    string
	Section string // of the report; "": the name
	// Open makes the stores in a folder of the stage's own.
	Open func(dir string) (*Set, error)
}

// section is where the report has the stage.
func (s *Stage) section() string { return cmp.Or(s.Section, s.Name) }

// Set is a stage that is open.
type Set struct {
	Contests []Contest
	Measured []Result // what opening has measured already
	Close    func() error
}

// Contest is one figure, of several entrants. Entrants[0] is compared with the others, which
// have the budgets.
type Contest struct {
	Name     string // short, for flags: "commit-64"
	About    string // for readers: "durable commits of one key, 64 goroutines"
	Durable  bool   // syncs to the disk
	Times    bool   // the times of single operations are reported, too: their median and p99
	Latency  bool   // reported as time per operation rather than as rate
	Each     int    // how much an operation counts: 1000 if it makes a thousand ids; 0: one
	Procs    int    // GOMAXPROCS during the contest; 0: unchanged
	Entrants []Entrant
	Fixed    []FixedRate

	Note func() string // called after all rounds: returns a remark for the report; may be nil
}

// Entrant is one way to do the work of a contest.
type Entrant struct {
	Name       string
	Goroutines int    // 0: one
	Ops        int    // operations in a round, of all goroutines together
	Form       string // not "": Entrants[0] in another form, such as "as it comes"
	Elastic    bool   // a round is as many operations as fit into the runner's Span, rather than Ops

	// Least is the budget of Entrants[0]: at least so many times the rate of
	// this one. 0: none, for information.
	Least float64

	Prepare func() error // before a round; not timed
	Op      func(w *Worker) error
	Check   func(ops int) error // after a round of so many operations; not timed

	times *Histogram // of operations; nil: nobody asks
	every int        // how many operations of a worker one time stands for
}

// FixedRate is a rate that was measured elsewhere.
type FixedRate struct {
	Name  string
	Rate  float64 // per second
	Least float64
}

// Worker is one goroutine of a round.
type Worker struct {
	Rand *rand.Rand
	N    int // number of the operation in the round, from 0; each is given once
	Buf  []byte

	// Idle is time that does not count: operations add the time that they waited for the moment
	// to begin. For entrants of one goroutine.
	Idle time.Duration

	times Histogram
}
