// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

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
	tx := NewClient(&fakeEngine{view: newFakeView(contents, false)}, kv.TransactionDefaults{}).Begin()
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
