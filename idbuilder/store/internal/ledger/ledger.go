// SPDX-License-Identifier: Apache-2.0

// Package ledger checks in tests of stores that no number is reserved twice:
//
//	var given ledger.Ledger
//	given.Add(reserved) // by each goroutine
//	err := given.Check(false)
package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Ledger has the ranges that were reserved of one ascending sequence, and checks that no
// number is in two of them. It is safe for concurrent use; the zero Ledger is empty.
type Ledger struct {
	mu     sync.Mutex
	ranges []store.Range
}

// Add enters a range.
func (l *Ledger) Add(r store.Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ranges = append(l.ranges, r)
}

// Len returns how many ranges there are.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ranges)
}

// Check reports numbers that were given twice, and versions that do not grow with
// the numbers; and numbers that were not given, if gaps are not expected.
func (l *Ledger) Check(gaps bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.ranges, func(a, b store.Range) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for i, r := range l.ranges {
		switch {
		case r.To <= r.From:
			return fmt.Errorf("%+v is not a range", r)
		case i == 0:
		case r.From < l.ranges[i-1].To:
			return fmt.Errorf("numbers were given twice: %+v and %+v", l.ranges[i-1], r)
		case r.Version <= l.ranges[i-1].Version:
			return fmt.Errorf("the versions do not grow: %+v, then %+v", l.ranges[i-1], r)
		case r.From > l.ranges[i-1].To && !gaps:
			return fmt.Errorf("numbers are missing: %+v, then %+v", l.ranges[i-1], r)
		}
	}
	return nil
}
