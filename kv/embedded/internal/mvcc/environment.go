// SPDX-License-Identifier: Apache-2.0

package mvcc

import "github.com/kazahana-db/kazahana/kv/embedded/internal/sample"

// environment is what all views of a database have in common beside the base.
type environment struct {
	leaps   Leaps
	reports chan vacancy // that the window has not added yet
	notify  func()       // makes the committer add them; nil: the next commit does
	sample  *sample.Sample
}

// Leaps say when a scan leaps over keys without a value. The zero value stands for
// the defaults, which are measured.
type Leaps struct {
	Every   int // after so many entries without a value a scan looks whether it can leap over those that follow
	LongRun int // a read that has passed so many reports them as vacant
}

// The defaults of Leaps.
const (
	LeapEvery = 8
	LongRun   = 64
)

func newEnvironment(l Leaps) *environment {
	if l.Every == 0 {
		l.Every = LeapEvery
	}
	if l.LongRun == 0 {
		l.LongRun = LongRun
	}
	return &environment{leaps: l, reports: make(chan vacancy, mostHeard)}
}

// report reports a vacancy. It does not wait: if the queue is full it drops v, and a
// later read finds it again.
func (s *environment) report(v vacancy) {
	select {
	case s.reports <- v:
	default:
	}
	if s.notify != nil {
		s.notify()
	}
}
