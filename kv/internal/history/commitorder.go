// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
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

// orderLoad runs random transactions; each writer leaves a mark: a key of
// its own with the versionstamp as its value. The marks tell at the end which
// attempts with an unknown outcome have happened.
type orderLoad struct {
	clients
	keys  int
	count int
	ids   atomic.Int64

	mu       sync.Mutex
	attempts []*orderedAttempt
	last     []string
}

func (l *orderLoad) key(i int) string { return fmt.Sprintf("data/%02d", i) }

// orderKeys is where the data is; the marks come after it.
func orderKeys() kv.KeyRange { return kv.PrefixRange([]byte("data/")) }

const orderMark = "mark/"

func markKey(id int) []byte { return fmt.Appendf(nil, "%s%08d", orderMark, id) }

func (l *orderLoad) run(goroutines int) error {
	err := l.start(goroutines, func(rng *rand.Rand) error {
		for range l.count {
			if err := l.try(rng.Uint64()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.db.ReadTransact(l.ctx, l.readEnd)
}

// try runs one transaction until it commits.
func (l *orderLoad) try(seed uint64) error {
	var a *orderedAttempt
	run := func(tx kv.Transaction) (err error) {
		a = &orderedAttempt{id: int(l.ids.Add(1))}
		return l.fill(tx, a, rand.New(rand.NewPCG(seed, 0))) // a retry does the same
	}
	return l.transaction(run, func(life lifetime) {
		a.lifetime = life
		l.mu.Lock()
		defer l.mu.Unlock()
		if life.outcome != failed {
			l.attempts = append(l.attempts, a)
		}
	})
}

// fill does what the transaction of a seed does.
func (l *orderLoad) fill(tx kv.Transaction, a *orderedAttempt, rng *rand.Rand) (err error) {
	if a.version, err = tx.GetReadVersion().Get(l.ctx); err != nil {
		return err
	}
	a.marked, a.seeks = rng.IntN(4) > 0, rng.IntN(2) == 0
	for range 1 + rng.IntN(6) {
		runtime.Gosched() // for transactions to overlap also on a fast engine
		if a.marked && rng.IntN(2) == 0 {
			a.steps = append(a.steps, l.write(tx, rng, a))
			continue
		}
		step, err := l.read(tx, rng, a)
		if err != nil {
			return err
		}
		a.steps = append(a.steps, step)
	}
	if a.marked {
		tx.Atomic(kv.SetVersionstampedValue, markKey(a.id), binary.LittleEndian.AppendUint32(make([]byte, 10), 0))
	}
	return nil
}

// write does one random write.
func (l *orderLoad) write(tx kv.Transaction, rng *rand.Rand, a *orderedAttempt) orderStep {
	key, value := l.key(rng.IntN(l.keys)), fmt.Sprint(a.id)
	switch kind := rng.IntN(8); kind {
	case 0, 1, 2:
		tx.Set([]byte(key), []byte(value))
		return orderStep{text: "Set(" + key + ")", write: func(m model.Model) { m[key] = value }}
	case 3:
		tx.Clear([]byte(key))
		return orderStep{text: "Clear(" + key + ")", write: func(m model.Model) { delete(m, key) }}
	case 4:
		from := rng.IntN(l.keys)
		r := model.Span(l.key(from), l.key(from+1+rng.IntN(3)))
		tx.ClearRange(r)
		return orderStep{text: fmt.Sprintf("ClearRange(%s to %s)", r.Begin, r.End), write: func(m model.Model) { m.ClearRange(r) }}
	}
	ops := model.Operations()
	op, operand := ops[rng.IntN(len(ops))], []byte(value)
	if op == kv.CompareAndClear && a.seeks {
		op = kv.ByteMax
	} else if op == kv.CompareAndClear {
		operand = fmt.Append(nil, rng.IntN(a.id)+1)
	}
	tx.Atomic(op, []byte(key), operand)
	return orderStep{text: fmt.Sprintf("Atomic(%d, %s, %q)", op, key, operand), write: func(m model.Model) { m.Atomic(op, key, operand) }}
}

// read does one random read.
func (l *orderLoad) read(tx kv.Transaction, rng *rand.Rand, a *orderedAttempt) (orderStep, error) {
	step, view := orderStep{snapshot: rng.IntN(4) == 0}, kv.ReadTransaction(tx)
	if step.snapshot {
		view = tx.Snapshot()
	}
	var err error
	from := rng.IntN(l.keys)
	switch kind := rng.IntN(4); {
	case kind == 0:
		o := kv.RangeOptions{Limit: rng.IntN(4), Reverse: rng.IntN(2) == 0}
		err = l.readRange(view, &step, model.Span(l.key(from), l.key(from+1+rng.IntN(l.keys))), o)
	case kind == 1 && a.seeks:
		sel := kv.KeySelector{Key: []byte(l.key(from)), OrEqual: rng.IntN(2) == 0, Offset: rng.IntN(5) - 2}
		err = l.readSelector(view, &step, sel)
	default:
		err = l.readKey(view, &step, l.key(from))
	}
	return step, err
}

func (l *orderLoad) readKey(view kv.ReadTransaction, s *orderStep, key string) error {
	show := func(value string, present bool) string { return fmt.Sprintf("%q %t", value, present) }
	s.text = fmt.Sprintf("Get(%q)", key)
	s.read = func(m model.Model) string {
		value, present := m[key]
		return show(value, present)
	}
	value, err := view.Get([]byte(key)).Get(l.ctx)
	s.got = show(string(value), value != nil)
	return err
}

func (l *orderLoad) readRange(view kv.ReadTransaction, s *orderStep, r kv.KeyRange, o kv.RangeOptions) error {
	s.text = fmt.Sprintf("GetRange(%q to %q, %+v)", r.Begin, r.End, o)
	s.read = func(m model.Model) string { return fmt.Sprintf("%q", m.Scan(r.Selectors(), o)) }
	pairs, err := view.GetRange(r.Selectors(), o).Slice(l.ctx)
	s.got = fmt.Sprintf("%q", model.Texts(pairs))
	return err
}

// readSelector reads a key, and calls every key that is not data "outside".
func (l *orderLoad) readSelector(view kv.ReadTransaction, s *orderStep, sel kv.KeySelector) error {
	show := func(key string) string {
		if r := orderKeys(); key < string(r.Begin) || key >= string(r.End) {
			return "outside"
		}
		return key
	}
	s.text = fmt.Sprintf("GetKey(%v)", sel)
	s.read = func(m model.Model) string { return show(m.Key(sel)) }
	key, err := view.GetKey(sel).Get(l.ctx)
	s.got = show(string(key))
	return err
}

// readEnd reads the contents and the marks.
func (l *orderLoad) readEnd(tx kv.ReadTransaction) error {
	data, err := tx.GetRange(orderKeys().Selectors(), kv.RangeOptions{}).Slice(l.ctx)
	if err != nil {
		return err
	}
	l.last = model.Texts(data)
	marks, err := tx.GetRange(kv.PrefixRange([]byte(orderMark)).Selectors(), kv.RangeOptions{}).Slice(l.ctx)
	if err != nil {
		return err
	}
	stamps := map[string][]byte{}
	for _, mark := range marks {
		stamps[string(mark.Key)] = bytes.Clone(mark.Value)
	}
	for _, a := range l.attempts {
		a.stamp = stamps[string(markKey(a.id))]
	}
	return nil
}

// inOrder sorts the attempts by what they were.
func (l *orderLoad) inOrder() *commitOrder {
	c := &commitOrder{last: l.last}
	for _, a := range l.attempts {
		switch {
		case a.stamp != nil:
			c.writers = append(c.writers, a)
		case a.marked && a.outcome == committed:
			c.fault(a, "it committed and is not there")
		case a.outcome == committed:
			c.readers = append(c.readers, a)
		}
	}
	return c
}
