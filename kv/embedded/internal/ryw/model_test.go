// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// modelWrite changes what a transaction sees.
type modelWrite func(contents map[string]string)

// trial is one transaction on a fake engine and a model of it: the contents of
// the database, and the writes so far.
type trial struct {
	t        *testing.T
	random   *rand.Rand
	tx       *Transaction
	contents map[string]string
	writes   []modelWrite
	steps    []string
	selects  bool // it reads by selectors, and makes no CompareAndClear: see [rangeRead.count]

	reads []trialRead // that are not snapshot reads
}

// trialRead is a read that was made after so many writes.
type trialRead struct {
	read   modelRead
	writes int
	name   string
}

func sortedKeys(contents map[string]string) []string { return slices.Sorted(maps.Keys(contents)) }

// TestReadsOverWrites makes random transactions on contents that do not change,
// and compares each read with a model: own writes over the database, in order. At
// the end it checks that the read conflict ranges protect each read: a key is in one of them if a
// change of its value would change the result.
func TestReadsOverWrites(t *testing.T) {
	random := seed.Rand(t)
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	for range rounds {
		if newTrial(t, random).run(); t.Failed() {
			return
		}
	}
}

func newTrial(t *testing.T, random *rand.Rand) *trial {
	tr := &trial{t: t, random: random, contents: map[string]string{}, selects: random.IntN(2) == 0}
	for range random.IntN(8) {
		tr.contents[tr.key()] = tr.value()
	}
	client := NewClient(&fakeEngine{view: newFakeView(tr.contents, random.IntN(2) == 0)}, kv.TransactionOptions{})
	tr.tx = client.Begin()
	return tr
}

// trialKeys are few, and some follow each other at once.
var trialKeys = []string{"", "a", "a\x00", "a\x00\x00", "b", "c", "c\x00", "d", "e", "f"}

func (tr *trial) key() string { return trialKeys[tr.random.IntN(len(trialKeys))] }
func (tr *trial) value() string {
	return strings.Repeat("v", tr.random.IntN(3)) + fmt.Sprint(tr.random.IntN(10))
}

func (tr *trial) run() {
	defer tr.tx.Cancel()
	for range 1 + tr.random.IntN(12) {
		if tr.random.IntN(2) == 0 {
			tr.write()
		} else {
			tr.read()
		}
	}
	tr.checkConflicts()
}

// write makes a random write, in the transaction and in the model.
func (tr *trial) write() {
	key, value := tr.key(), tr.value()
	var w modelWrite
	kind := tr.random.IntN(6)
	if kind == 3 && tr.selects {
		kind = 0
	}
	switch kind {
	case 0:
		tr.step("Clear(%q)", key)
		tr.tx.Clear([]byte(key))
		w = func(c map[string]string) { delete(c, key) }
	case 1:
		end := max(key, tr.key())
		tr.step("ClearRange(%q, %q)", key, end)
		tr.tx.ClearRange(kv.KeyRange{Begin: []byte(key), End: []byte(end)})
		w = func(c map[string]string) { maps.DeleteFunc(c, func(k, _ string) bool { return key <= k && k < end }) }
	case 2:
		tr.step("AppendIfFits(%q, %q)", key, value)
		tr.tx.Atomic(kv.AppendIfFits, []byte(key), []byte(value))
		w = func(c map[string]string) { c[key] += value }
	case 3:
		tr.step("CompareAndClear(%q, %q)", key, value)
		tr.tx.Atomic(kv.CompareAndClear, []byte(key), []byte(value))
		w = func(c map[string]string) {
			maps.DeleteFunc(c, func(k, v string) bool { return k == key && v == value })
		}
	case 4:
		tr.step("ByteMax(%q, %q)", key, value)
		tr.tx.Atomic(kv.ByteMax, []byte(key), []byte(value))
		w = func(c map[string]string) { c[key] = max(c[key], value) }
	default:
		tr.step("Set(%q, %q)", key, value)
		tr.tx.Set([]byte(key), []byte(value))
		w = func(c map[string]string) { c[key] = value }
	}
	tr.writes = append(tr.writes, w)
}

func (tr *trial) step(format string, args ...any) {
	tr.steps = append(tr.steps, fmt.Sprintf(format, args...))
}

// read makes a random read and compares it with the model.
func (tr *trial) read() {
	tr.t.Helper()
	var reader kv.ReadTransaction = tr.tx
	snapshot := tr.random.IntN(3) == 0
	if snapshot {
		reader = tr.tx.Snapshot()
	}
	read, result, err := tr.readOnce(reader)
	name := tr.steps[len(tr.steps)-1]
	if err != nil {
		tr.fail("%s: %v", name, err)
	}
	if diff := cmp.Diff(read(tr.seen(tr.contents, len(tr.writes))), result); diff != "" {
		tr.fail("%s (-want +got):\n%s", name, diff)
	}
	if !snapshot {
		tr.reads = append(tr.reads, trialRead{read, len(tr.writes), name})
	}
}

// readOnce makes a random read. It returns the model of the read and its result.
func (tr *trial) readOnce(tx kv.ReadTransaction) (modelRead, []string, error) {
	ctx := tr.t.Context()
	kind := tr.random.IntN(3)
	if kind == 1 && !tr.selects {
		kind = 0
	}
	switch kind {
	case 0:
		key := tr.key()
		tr.step("Get(%q)", key)
		value, err := tx.Get([]byte(key)).Get(ctx)
		return modelGet(key), resultOf(value), err
	case 1:
		sel := kv.KeySelector{Key: []byte(tr.key()), OrEqual: tr.random.IntN(2) == 0, Offset: tr.random.IntN(9) - 4}
		tr.step("GetKey(%v)", sel)
		key, err := tx.GetKey(sel).Get(ctx)
		return modelGetKey(sel), []string{string(key)}, err
	}
	begin, end := tr.key(), tr.key()
	o := kv.RangeOptions{Limit: tr.random.IntN(5), Reverse: tr.random.IntN(2) == 0, Mode: kv.StreamingMode(tr.random.IntN(7))}
	if o.Mode == kv.ModeExact {
		o.Limit++
	}
	tr.step("GetRange(%q, %q, %+v)", begin, end, o)
	pairs, err := tx.GetRange(kv.KeyRange{Begin: []byte(begin), End: []byte(end)}.Selectors(), o).Slice(ctx)
	var result []string
	for _, p := range pairs {
		result = append(result, string(p.Key)+"="+string(p.Value))
	}
	return modelGetRange(begin, end, o), result, err
}

// seen returns the contents with the first n writes over them.
func (tr *trial) seen(contents map[string]string, n int) map[string]string {
	c := maps.Clone(contents)
	for _, w := range tr.writes[:n] {
		w(c)
	}
	return c
}

// checkConflicts changes the database key by key, and checks that a key is in
// a read conflict range if its change changes the result of a read.
func (tr *trial) checkConflicts() {
	tr.t.Helper()
	ranges, _, err := tr.tx.ConflictRanges(tr.t.Context())
	if err != nil {
		tr.fail("ConflictRanges: %v", err)
	}
	for _, key := range trialKeys {
		if slices.ContainsFunc(ranges, func(r kv.KeyRange) bool { return string(r.Begin) <= key && key < string(r.End) }) {
			continue
		}
		for _, changed := range tr.changes(key) {
			for _, r := range tr.reads {
				before, after := r.read(tr.seen(tr.contents, r.writes)), r.read(tr.seen(changed, r.writes))
				if !slices.Equal(before, after) {
					tr.fail("%q is in none of the read conflict ranges %q, but with another value of it %s returns %q instead of %q", key, ranges, r.name, after, before)
				}
			}
		}
	}
}

// changes returns the contents with other values of a key, or without it.
func (tr *trial) changes(key string) (all []map[string]string) {
	without, with := maps.Clone(tr.contents), maps.Clone(tr.contents)
	delete(without, key)
	with[key] = "another value"
	return []map[string]string{without, with}
}

func (tr *trial) fail(format string, args ...any) {
	tr.t.Helper()
	tr.t.Fatalf("contents %q, steps\n  %s\n%s", tr.contents, strings.Join(tr.steps, "\n  "), fmt.Sprintf(format, args...))
}

// modelRead computes, from what a transaction sees, what a read of it returns.
type modelRead func(contents map[string]string) []string

func resultOf(value []byte) []string {
	if value == nil {
		return nil
	}
	return []string{string(value)}
}

func modelGet(key string) modelRead {
	return func(c map[string]string) []string {
		if value, ok := c[key]; ok {
			return []string{value}
		}
		return nil
	}
}

func modelGetKey(sel kv.KeySelector) modelRead {
	return func(c map[string]string) []string {
		keys := sortedKeys(c)
		at, found := slices.BinarySearch(keys, string(sel.Key))
		if found && sel.OrEqual {
			at++
		}
		switch at += sel.Offset - 1; {
		case at < 0:
			return []string{""}
		case at >= len(keys):
			return []string{"\xff"}
		}
		return keys[at : at+1]
	}
}

func modelGetRange(begin, end string, o kv.RangeOptions) modelRead {
	return func(c map[string]string) (result []string) {
		for _, key := range sortedKeys(c) {
			if begin <= key && key < end {
				result = append(result, key+"="+c[key])
			}
		}
		if o.Reverse {
			slices.Reverse(result)
		}
		if o.Limit > 0 && len(result) > o.Limit {
			result = result[:o.Limit]
		}
		return result
	}
}

// TestReadsThatFailMidway ends random reads over own writes at each of their
// steps, as a disk that is not at hand or an absorbed version does, and checks
// that the read tells the error, or else what it would have told without it.
func TestReadsThatFailMidway(t *testing.T) {
	rng := seed.Rand(t)
	for range 150 {
		tx := midwayTransaction(t, rng)
		sel := kv.KeySelector{Key: midwayKey(rng), OrEqual: rng.IntN(2) == 0, Offset: rng.IntN(7) - 3}
		keys := kv.SelectorRange{Begin: sel, End: kv.KeySelector{Key: midwayKey(rng), Offset: rng.IntN(7) - 3}}
		keys.Begin.OrEqual = false
		req := kv.BatchRequest{SelectorRange: keys, RangeOptions: kv.RangeOptions{Limit: rng.IntN(4), Reverse: rng.IntN(2) == 0}, Iteration: 1}
		checkMidway(t, tx, func(s *overlay) (string, error) {
			key, err := s.resolveKey(shortenSelector(sel))
			return string(key), err
		})
		checkMidway(t, tx, func(s *overlay) (string, error) {
			res, err := s.readRange(req)
			return fmt.Sprintf("%q %t", res.kvs, res.more), err
		})
		tx.Cancel()
	}
}

func midwayKey(rng *rand.Rand) []byte { return fmt.Appendf(nil, "%02d", rng.IntN(30)) }

func shortenSelector(sel kv.KeySelector) kv.KeySelector {
	sel.Key = shorten(sel.Key)
	return sel
}

// midwayTransaction returns a transaction with own writes and known keys over a
// database with other contents.
func midwayTransaction(t *testing.T, rng *rand.Rand) *Transaction {
	t.Helper()
	contents := map[string]string{}
	for range rng.IntN(20) {
		contents[string(midwayKey(rng))] = "value"
	}
	tx := NewClient(&fakeEngine{view: newFakeView(contents, false)}, kv.TransactionOptions{}).Begin()
	midwayWrites(tx, rng)
	for range rng.IntN(3) {
		if _, err := tx.Get(midwayKey(rng)).Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return tx
}

func midwayWrites(tx kv.Transaction, rng *rand.Rand) {
	for range rng.IntN(8) {
		switch key := midwayKey(rng); rng.IntN(4) {
		case 0:
			tx.Clear(key)
		case 1:
			tx.ClearRange(kv.KeyRange{Begin: key, End: append(key, '~')})
		case 2:
			tx.Atomic(kv.Add, key, []byte{1})
		default:
			tx.Set(key, key)
		}
	}
}

// checkMidway makes a read without a bound, and then with one that it meets at its
// n-th step, for each n.
func checkMidway(t *testing.T, tx *Transaction, walk func(*overlay) (string, error)) {
	t.Helper()
	want, err := midwayRead(tx, reads.Budget{}, walk)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < reads.StepsBetweenChecks; n++ {
		got, err := midwayRead(tx, reads.Budget{Used: reads.StepsBetweenChecks - n, Most: 1}, walk)
		if errors.Is(err, reads.ErrNotAtHand) {
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("a read that fails at step %d, if at all: %v (-want +got):\n%s", n, err, diff)
		}
	}
}

func midwayRead(tx *Transaction, b reads.Budget, walk func(*overlay) (string, error)) (string, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	s := newOverlay(tx, false)
	s.budget = b
	return walkToEnd(s, walk)
}
