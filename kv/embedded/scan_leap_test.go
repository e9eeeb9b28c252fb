// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// TestLeaps scans, from many places and in both directions, a lane in which long
// stretches are absent in the window, in the base, in both or in neither, and
// compares with a list.
func TestLeaps(t *testing.T) {
	random := seed.Rand(t)
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	for range rounds {
		leapRound(t, random)
	}
}

func leapRound(t *testing.T, random *rand.Rand) {
	t.Helper()
	o := tiny(vfs.NewMem())
	o.leaps.Every = 1 + random.IntN(3)
	if random.IntN(2) == 0 {
		o.leaps.LongRun = 1 << 30 // so that only what nodes know is leapt over
	}
	const n = 1500
	db := laneWith(t, o, 0, false)
	there := make([]bool, n)
	for part := range 14 {
		transact(t, db, func(tx kv.Transaction) { changeStretch(tx, random, there) })
		if part == 4 || part > 4 && random.IntN(8) == 0 {
			toTheBase(t, db)
		}
	}
	var want []string
	for i, is := range there {
		if is {
			want = append(want, string(laneKey(i)))
		}
	}
	for range 4 {
		from, to := random.IntN(n), random.IntN(n)
		checkLeaps(t, db, want, laneKey(min(from, to)), laneKey(max(from, to)))
		checkLeaps(t, db, want, laneKey(0), laneKey(n))
	}
}

// changeStretch sets or clears part of the keys of a stretch of the lane.
func changeStretch(tx kv.Transaction, random *rand.Rand, there []bool) {
	from := random.IntN(len(there))
	to := min(from+random.IntN(700), len(there))
	kind, share := random.IntN(5), 1+random.IntN(300)
	if kind == 0 {
		tx.ClearRange(kv.KeyRange{Begin: laneKey(from), End: laneKey(to)})
		clear(there[from:to])
		return
	}
	for i := from; i < to; i++ {
		switch {
		case kind == 1 && random.IntN(share) == 0, kind == 2:
			tx.Set(laneKey(i), []byte("value"))
			there[i] = true
		case kind > 2 && random.IntN(share) > 0:
			tx.Clear(laneKey(i))
			there[i] = false
		}
	}
}

// checkLeaps scans [begin, end), with bounds and without.
func checkLeaps(t *testing.T, db *Database, all []string, begin, end []byte) {
	t.Helper()
	var want, up, down []string
	for _, k := range all {
		if string(begin) <= k && k < string(end) {
			want = append(want, k)
		}
	}
	for _, bounded := range []bool{true, false} {
		up, down = nil, nil
		s, r := db.head.Newest().NewScan(nil), db.head.Newest().NewScan(nil)
		if bounded {
			s.SetBounds(begin, end)
			r.SetBounds(begin, end)
		}
		for key, _, ok := s.Seek(begin); ok && bytes.Compare(key, end) < 0; key, _, ok = s.Next() {
			up = append(up, string(key))
		}
		for key, _, ok := r.SeekBelow(end); ok && bytes.Compare(key, begin) >= 0; key, _, ok = r.SeekBelow(key) {
			down = append([]string{string(key)}, down...)
		}
		for _, scan := range []*mvcc.Scan{s, r} {
			if err := scan.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, up); diff != "" {
			t.Fatalf("%q to %q, bounded %v (-want +got):\n%s", begin, end, bounded, diff)
		}
		if diff := cmp.Diff(want, down); diff != "" {
			t.Fatalf("%q down to %q, bounded %v (-want +got):\n%s", end, begin, bounded, diff)
		}
	}
}
