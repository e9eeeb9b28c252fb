// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// shortRuns makes the engine remember runs of two keys without values, and absorb
// runs of two.
func shortRuns(o Options) Options {
	o.leaps, o.runKeys = mvcc.Leaps{Every: 1, LongRun: 2}, 2
	return o
}

// chronicle is a database of which all versions are known.
type chronicle struct {
	t      *rapid.T
	fs     *vfs.MemFS
	db     *Database
	now    map[string]string
	states []state
	seen   int // vacancies in the views that were read
}

// state is what the database holds from a version on, and what the commit at the
// version wrote.
type state struct {
	version int64
	model   map[string]string
	wrote   []kv.KeyRange
}

func (p *chronicle) open() {
	o := shortRuns(tiny(p.fs))
	db, err := Open("db", o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.db, p.states = db, nil
	p.keep(db.head.Newest().Version(), nil)
}

func (p *chronicle) keep(version int64, wrote []kv.KeyRange) {
	p.states = append(p.states, state{version, maps.Clone(p.now), wrote})
}

// crash loses what is not on the disk, and opens the database again.
func (p *chronicle) crash(percent int) {
	fs := p.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, uint64(percent)))})
	if err := p.db.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.fs = fs
	p.open()
}

func (p *chronicle) key(label string) string {
	key := fmt.Sprintf("%02d", rapid.IntRange(0, 30).Draw(p.t, label))
	switch rapid.IntRange(0, 14).Draw(p.t, label+" kind") {
	case 0:
		return key + "\x00"
	case 1:
		return ""
	}
	return key
}

func (p *chronicle) keys(label string) kv.KeyRange {
	from, to := p.key(label+" from"), p.key(label+" to")
	if to < from {
		from, to = to, from
	}
	return kv.KeyRange{Begin: []byte(from), End: []byte(to)}
}

// change draws a write, of many keys at times, and makes it in the model.
func (p *chronicle) change(tx kv.Transaction) (wrote []kv.KeyRange) {
	switch rapid.IntRange(0, 7).Draw(p.t, "write") {
	case 0:
		r := p.keys("clear")
		maps.DeleteFunc(p.now, func(k, _ string) bool { return string(r.Begin) <= k && k < string(r.End) })
		tx.ClearRange(r)
		return []kv.KeyRange{r}
	case 1, 2, 3: // one by one
		r := p.keys("clear each")
		for _, k := range slices.Sorted(maps.Keys(p.now)) {
			if string(r.Begin) <= k && k < string(r.End) {
				delete(p.now, k)
				tx.Clear([]byte(k))
				wrote = append(wrote, keys.Single([]byte(k)))
			}
		}
		return wrote
	case 4:
		from := rapid.IntRange(0, 30).Draw(p.t, "fill from")
		for i := from; i < from+8; i++ {
			wrote = append(wrote, p.set(tx, fmt.Sprintf("%02d", i)))
		}
		return wrote
	case 5:
		key := p.key("add")
		p.now[key] += "+"
		tx.Atomic(kv.AppendIfFits, []byte(key), []byte("+"))
		return []kv.KeyRange{keys.Single([]byte(key))}
	}
	return []kv.KeyRange{p.set(tx, p.key("set"))}
}

func (p *chronicle) set(tx kv.Transaction, key string) kv.KeyRange {
	p.now[key] = fmt.Sprint(len(p.states))
	tx.Set([]byte(key), []byte(p.now[key]))
	return keys.Single([]byte(key))
}

// commit writes without reading.
func (p *chronicle) commit() {
	tx := p.begin()
	defer tx.Cancel()
	wrote := p.change(tx)
	if err := tx.Commit(context.Background()); err != nil {
		p.t.Fatal(err)
	}
	if version, err := tx.GetCommittedVersion(); err == nil && version > 0 {
		p.keep(version, wrote)
	}
}

func (p *chronicle) begin() kv.Transaction {
	tx, err := p.db.Begin()
	if err != nil {
		p.t.Fatal(err)
	}
	return tx
}

// read compares a read at a version of the past with the model of that version,
// and commits it with a write, which must conflict as the model says.
func (p *chronicle) read() {
	i := len(p.states) - 1 - min(rapid.IntRange(0, 4).Draw(p.t, "age"), len(p.states)-1)
	at := p.states[i]
	tx := p.begin()
	defer tx.Cancel()
	tx.SetReadVersion(at.version)
	r, reverse := p.keys("read"), rapid.Bool().Draw(p.t, "reverse")
	if rapid.Bool().Draw(p.t, "all") {
		r = everything
	}
	limit := rapid.IntRange(0, 3).Draw(p.t, "limit")
	got, err := readPairs(tx, r, kv.RangeOptions{Reverse: reverse, Limit: limit})
	if p.tooOld(err, at.version) {
		return
	}
	p.seen += vacancies(p.db).Len()
	if diff := cmp.Diff(pairsOf(at.model, r, reverse, limit), got); diff != "" {
		p.t.Fatalf("%q to %q at version %d of the newest %d, reverse %v (-want +got):\n%s", r.Begin, r.End, at.version, p.states[len(p.states)-1].version, reverse, diff)
	}
	if limit > 0 {
		return // what of the range counts as read is for other tests
	}
	wrote := p.set(tx, "result")
	err = tx.Commit(context.Background())
	if p.tooOld(err, at.version) {
		p.now = maps.Clone(p.states[len(p.states)-1].model)
		return
	}
	if want := p.conflicts(r, i); want != (kv.CodeOf(err) == kv.CodeNotCommitted) {
		p.t.Fatalf("a read of %q to %q at version %d: %v, want a conflict: %v", r.Begin, r.End, at.version, err, want)
	}
	if err != nil {
		p.now = maps.Clone(p.states[len(p.states)-1].model)
		return
	}
	version, _ := tx.GetCommittedVersion()
	p.keep(version, []kv.KeyRange{wrote})
}

// tooOld reports whether a read may have failed because the base has gone past
// its version.
func (p *chronicle) tooOld(err error, version int64) bool {
	if err == nil || kv.CodeOf(err) == kv.CodeNotCommitted {
		return false
	}
	if kv.CodeOf(err) != kv.CodeTransactionTooOld || version >= p.db.disk.base.OldestReaderVersion() {
		p.t.Fatalf("version %d, the base being at %d: %v", version, p.db.disk.base.OldestReaderVersion(), err)
	}
	return true
}

// conflicts is a naive resolver: whether anything in r was written after state i.
func (p *chronicle) conflicts(r kv.KeyRange, i int) bool {
	if string(r.Begin) >= string(r.End) {
		return false
	}
	for _, s := range p.states[i+1:] {
		for _, w := range s.wrote {
			if string(w.Begin) < string(r.End) && string(r.Begin) < string(w.End) {
				return true
			}
		}
	}
	return false
}

// TestVacancyModel compares reads and conflicts at versions old and new with one
// map a version, while runs of cleared keys are remembered, filled again,
// absorbed, and lost in crashes.
func TestVacancyModel(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		p := &chronicle{t: t, fs: vfs.NewCrashableMem(), now: map[string]string{}}
		p.open()
		defer func() { _ = p.db.Close() }()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 19).Draw(t, "step") {
			case 0:
				p.crash(rapid.SampledFrom([]int{0, 50, 100}).Draw(t, "kept"))
			case 1, 2:
				if err := p.db.disk.absorber.Pass(); err != nil {
					t.Fatal(err)
				}
			case 3, 4, 5, 6, 7, 8, 9:
				p.commit()
			default:
				p.read()
			}
		}
		seen += p.seen
	})
	if seen == 0 && !testing.Short() { // a short run has few rounds
		t.Error("no read had anything to leap over")
	}
}

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
