// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// withPriority are options of a candidate with a priority.
func withPriority(owner string, priority int32) election.Options {
	o := short(owner)
	o.Priority = priority
	return o
}

// TestPriority checks that at a vacancy the living standby of the highest priority leads, after
// a resignation as well as after a crash; that a standby of a higher priority takes
// the office from no leader; and that a dead one delays the next leader within the bound.
func TestPriority(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		terms := make(chan event, 10)
		low := start(t, db, withPriority("low", -1), terms)
		leader := <-terms
		high, middle := &cut{Database: db}, &cut{Database: db}
		ends := []func(){
			start(t, db, withPriority("equal", -1), terms).endOf(t), // its watch may fire first
			start(t, middle, withPriority("middle", 3), terms).endOf(t),
			start(t, high, withPriority("high", 5), terms).endOf(t),
		}
		time.Sleep(time.Minute)
		if leader.ctx.Err() != nil || len(terms) > 0 {
			t.Fatal("a leader was deposed by a priority")
		}
		low.Resign()
		if next := <-terms; next.who != "high" {
			t.Fatalf("%s follows a resignation", next.who)
		}
		time.Sleep(time.Minute)
		high.off.Store(true)
		if next := <-terms; next.who != "middle" {
			t.Fatalf("%s follows a crash", next.who)
		}
		time.Sleep(time.Minute)
		// Now the leader and the highest standby die at once.
		high.off.Store(false)
		time.Sleep(time.Minute)
		high.off.Store(true)
		middle.off.Store(true)
		died := time.Now()
		next := <-terms
		if next.who != "low" && next.who != "equal" {
			t.Fatalf("%s follows the crash of both", next.who)
		}
		if took := next.at.Sub(died); took > lease+window+latency {
			t.Errorf("%s leads after %v", next.who, took)
		}
		high.off.Store(false)
		middle.off.Store(false)
		for _, end := range append(ends, low.endOf(t)) {
			end()
		}
	})
}

func (p *process) endOf(t *testing.T) func() { return func() { p.stop(t) } }

// TestStandbys checks that candidates are registered while they do not lead, that those
// that end in order go at once, and those that die a lease and two renewals later.
func TestStandbys(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		terms := make(chan event, 10)
		e := newElection(t, db, short("observer"))
		want := func(when string, want ...election.Standby) {
			t.Helper()
			if diff := cmp.Diff(want, must[[]election.Standby](t)(e.Standbys(ctx, db))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		want("at first")
		a := start(t, db, short("a"), terms)
		<-terms
		dying := &cut{Database: db}
		b := start(t, dying, withPriority("b", 1), terms)
		c := start(t, db, short("c"), terms)
		time.Sleep(time.Minute)
		want("two standbys", election.Standby{Candidate: "b", Priority: 1}, election.Standby{Candidate: "c"})
		if n := a.Metrics().Standbys; n != 2 {
			t.Errorf("the leader counts %d standbys", n)
		}
		dying.off.Store(true)
		time.Sleep(lease / 2)
		want("one has died", election.Standby{Candidate: "b", Priority: 1}, election.Standby{Candidate: "c"})
		time.Sleep(lease*5/3 - lease/2 + latency)
		want("it was forgotten", election.Standby{Candidate: "c"})
		dying.off.Store(false)
		time.Sleep(lease)
		want("it lives", election.Standby{Candidate: "b", Priority: 1}, election.Standby{Candidate: "c"})
		c.stop(t)
		want("one has ended", election.Standby{Candidate: "b", Priority: 1})
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(newer(t, db), []byte{0x15, 99}); return nil }))
		if all, err := e.Standbys(ctx, db); err == nil || len(all) != 1 || all[0].Candidate != "b" {
			t.Errorf("with one that cannot be read: %v, %v", all, err)
		}
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Clear(newer(t, db)); return nil }))
		a.Resign()
		<-terms
		time.Sleep(latency)
		want("the leader is none", election.Standby{Candidate: "a"})
		a.stop(t)
		b.stop(t)
		want("at last")
	})
}

// newer returns the key of a registration of the election "job".
func newer(t *testing.T, db kv.Database) []byte {
	t.Helper()
	prefix := must[[]byte](t)(must[*directory.Directory](t)(directory.Root().Open(ctx, db, []string{"kazahana", "elections"})).Prefix())
	return append(prefix, tuple.Tuple{"S", "job", -1, "newer"}.MustPack()...)
}

// TestNamesWithAZeroByte lists the standbys of an election. The name of another election is the
// same up to a zero byte.
func TestNamesWithAZeroByte(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		terms := make(chan event, 10)
		other := func(name string) *process {
			p := startOf(t, must[*election.Election](t)(election.New(db, "job\x00b", short(name))), name, terms)
			time.Sleep(time.Minute)
			return p
		}
		leader, standby := other("a"), other("b")
		if all := must[[]election.Standby](t)(newElection(t, db, short("observer")).Standbys(ctx, db)); len(all) > 0 {
			t.Errorf("the standbys of another election are %v", all)
		}
		standby.stop(t)
		leader.stop(t)
	})
}

// TestLayoutDocument makes what docs/layout.md shows and compares every key and value of
// the directory.
func TestLayoutDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		elect(t, db, func() {
			if diff := cmp.Diff(documented(t), stored(t, db)); diff != "" {
				t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
			}
		})
	})
}

// elect runs the election of the document, calls look, and ends it.
func elect(t *testing.T, db kv.Database, look func()) {
	t.Helper()
	terms := make(chan event, 2)
	leader := start(t, db, short("host-1"), terms)
	<-terms
	standby := start(t, db, withPriority("host-2", 7), terms)
	time.Sleep(lease/3 + latency) // one renewal
	look()
	leader.stop(t)
	standby.stop(t)
}

// TestFormats reads an election of candidates of earlier versions that were killed, and stores one.
// Elections run in virtual time, on a database of their own.
func TestFormats(t *testing.T) {
	layer := contents.Layer{
		Name: "election/terms",
		Open: enginetest.Open,
		Write: func(t *testing.T, db kv.Database) {
			var pairs []kv.KeyValue
			synctest.Test(t, func(t *testing.T) {
				running := enginetest.InProcess(t)
				elect(t, running, func() { pairs = pairsOf(t, running) })
			})
			storePairs(t, db, pairs)
		},
		Mask: func(line string) string { return random.ReplaceAllString(line, "02<random>00") },
		Read: func(t *testing.T, db kv.Database) {
			pairs := pairsOf(t, db)
			synctest.Test(t, func(t *testing.T) {
				running := enginetest.InProcess(t)
				storePairs(t, running, pairs)
				for status, err := range newElection(t, running, short("observer")).Observe(ctx) {
					if want := (election.Status{Leader: "host-1", Rank: 1}); status != want || err != nil {
						t.Errorf("the leader is %+v, %v; want %+v", status, err, want)
					}
					break
				}
				began, terms := time.Now(), make(chan event, 2)
				p := start(t, running, short("host-3"), terms)
				standbys := must[[]election.Standby](t)(p.Standbys(ctx, running))
				if len(standbys) == 0 || standbys[0].Candidate != "host-2" || standbys[0].Priority != 7 {
					t.Errorf("the standbys are %+v", standbys)
				}
				if next := <-terms; next.term.Rank() != 2 || next.at.Sub(began) < lease {
					t.Errorf("the next leader has the rank %d after %v, want 2, after a lease", next.term.Rank(), next.at.Sub(began))
				}
				p.stop(t)
			})
		},
	}
	formats.Check(t, layer.Format())
}

// pairsOf returns everything that a database holds.
func pairsOf(t *testing.T, db kv.Database) []kv.KeyValue {
	t.Helper()
	return must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
}

func storePairs(t *testing.T, db kv.Database, pairs []kv.KeyValue) {
	t.Helper()
	check(t, db.Transact(ctx, func(tx kv.Transaction) error {
		for _, pair := range pairs {
			tx.Set(pair.Key, pair.Value)
		}
		return nil
	}))
}

// random are the request id and the name of a member: 26 letters and digits.
var random = regexp.MustCompile(`02(3[2-7]|[45][0-9a-f]){26}00`)

func documented(t *testing.T) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```election\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block of an election")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}

func stored(t *testing.T, db kv.Database) (all []string) {
	t.Helper()
	dir := must[*directory.Directory](t)(directory.Root().Open(ctx, db, []string{"kazahana", "elections"}))
	prefix := must[[]byte](t)(dir.Prefix())
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	for _, pair := range pairs {
		text := hex.EncodeToString(pair.Key[len(prefix):]) + "=" + hex.EncodeToString(pair.Value)
		all = append(all, "<dir>"+random.ReplaceAllString(text, "02<random>00"))
	}
	return all
}
