// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// CheckCommitOrder runs random transactions of all kinds against db: reads by
// point, range and selector, through Snapshot too and over own writes, and sets,
// clears, range clears and atomic operations. Then it runs them once more, one
// by one, on a sorted map in the order that the engine claims, that of their
// versionstamps, and fails t where
//
//   - a transaction that wrote saw anything but what it would have seen at its
//     place in that order, or at its read version,
//   - one that only read, or a snapshot read, saw anything but the state at its
//     read version,
//   - the order contradicts time: a transaction that began after another had
//     ended comes before it, or
//   - the last state is another one.
//
// It replaces the contents below \xff, and works on a database of faults.Hostile as well.
func CheckCommitOrder(t testing.TB, db kv.Database, o LoadOptions) {
	t.Helper()
	load := &orderLoad{
		clients: clients{ctx: context.Background(), db: db, seed: o.Seed},
		keys:    cmp.Or(o.Keys, 5), count: cmp.Or(o.Transactions, 50),
	}
	if err := load.run(cmp.Or(o.Goroutines, 8)); err != nil {
		t.Fatalf("seed %d: the load cannot run: %v", o.Seed, err)
	}
	report(t, o.Seed, len(load.attempts), "not the order of versionstamps", load.inOrder().faults())
}

// orderedAttempt is an attempt with its place in the claimed order.
type orderedAttempt struct {
	lifetime
	id      int
	version int64  // the read version
	stamp   []byte // the versionstamp; nil of those that only read
	marked  bool   // it writes, so it has a mark if it happened
	seeks   bool   // it reads selectors, and so compares and clears nothing: to a selector such keys of its own are there, in FoundationDB too
	steps   []orderStep
}

// orderStep is a write or a read of an attempt.
type orderStep struct {
	text     string
	write    func(model.Model)
	read     func(model.Model) string // nil if it is a write
	got      string
	snapshot bool
}

// commitVersion is the version that the stamp begins with.
func (a *orderedAttempt) commitVersion() int64 { return int64(binary.BigEndian.Uint64(a.stamp)) }

// commitOrder is a history of transactions in the claimed order.
type commitOrder struct {
	writers []*orderedAttempt // by stamp
	readers []*orderedAttempt
	last    []string      // the contents at the end
	states  []model.Model // before each writer, and after the last
	found   []string
}

// faults replays the history.
func (c *commitOrder) faults() []string {
	slices.SortFunc(c.writers, func(a, b *orderedAttempt) int { return bytes.Compare(a.stamp, b.stamp) })
	state := model.Model{}
	for i, a := range c.writers {
		c.states = append(c.states, state)
		if a.version >= a.commitVersion() {
			c.fault(a, "it read version %d and committed at %d", a.version, a.commitVersion())
			continue
		}
		state = c.replay(a, c.states[c.seenBy(a.version, i)], state)
	}
	c.states = append(c.states, state)
	for _, a := range c.readers {
		before := c.states[c.seenBy(a.version, len(c.writers))]
		c.replay(a, before, before)
	}
	if end := state.Scan(orderKeys().Selectors(), kv.RangeOptions{}); !slices.Equal(end, c.last) {
		c.found = append(c.found, fmt.Sprintf("at the end the database holds %q, want %q", c.last, end))
	}
	c.checkTime()
	return c.found
}

// seenBy returns how many of the first n writers have committed by a version.
func (c *commitOrder) seenBy(version int64, n int) int {
	return sort.Search(n, func(i int) bool { return c.writers[i].commitVersion() > version })
}

func (c *commitOrder) fault(a *orderedAttempt, format string, args ...any) {
	var steps strings.Builder
	for _, s := range a.steps {
		fmt.Fprintf(&steps, "; %s %s", s.text, s.got)
	}
	c.found = append(c.found, fmt.Sprintf("T%d: %s; what it did: version %d%s", a.id, fmt.Sprintf(format, args...), a.version, &steps))
}

// Player runs an attempt on the state at its read version and on the one at
// its commit, and returns the latter as the attempt leaves it.
func (c *commitOrder) replay(a *orderedAttempt, then, now model.Model) model.Model {
	then, now = maps.Clone(then), maps.Clone(now)
	for _, s := range a.steps {
		if s.read == nil {
			s.write(then)
			s.write(now)
			continue
		}
		if want := s.read(then); s.got != want {
			c.fault(a, "%s got %s, want %s as of its read version", s.text, s.got, want)
		} else if want = s.read(now); !s.snapshot && s.got != want {
			c.fault(a, "%s got %s; at its commit it was %s", s.text, s.got, want)
		}
	}
	return now
}

// checkTime compares the order with the clock: an attempt sees at least what all
// attempts that ended before its begin have seen and written.
func (c *commitOrder) checkTime() {
	type event struct {
		at    int
		a     *orderedAttempt
		place int // what it saw, or has done
	}
	var begins, ends []event
	for i, a := range slices.Concat(c.writers, c.readers) {
		saw := c.seenBy(a.version, len(c.writers))
		begins = append(begins, event{a.began, a, saw})
		if i < len(c.writers) {
			saw = i + 1
		}
		if a.outcome == committed {
			ends = append(ends, event{a.ended, a, saw})
		}
	}
	byTime := func(a, b event) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(begins, byTime)
	slices.SortFunc(ends, byTime)
	var newest event
	for _, b := range begins {
		for len(ends) > 0 && ends[0].at < b.at {
			if ends[0].place > newest.place {
				newest = ends[0]
			}
			ends = ends[1:]
		}
		if b.place < newest.place {
			c.fault(b.a, "it reads version %d, older than what T%d had seen or done when it ended, before this one began", b.a.version, newest.a.id)
		}
	}
}
