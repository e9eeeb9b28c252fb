// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/tricky"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// commitRecord is a commit as the naive resolver remembers it.
type commitRecord struct {
	version int64
	writes  []kv.KeyRange
}

// naiveResolver keeps all write conflict ranges there ever were.
type naiveResolver []commitRecord

// conflict returns a write after version within the reads, nil if there is none.
func (n naiveResolver) conflict(reads []kv.KeyRange, version int64) *kv.KeyRange {
	for _, d := range n {
		for _, w := range d.writes {
			for _, r := range reads {
				if d.version > version && bytes.Compare(w.Begin, r.End) < 0 && bytes.Compare(r.Begin, w.End) < 0 {
					return &w
				}
			}
		}
	}
	return nil
}

// spyEngine keeps the last request of a transaction.
type spyEngine struct {
	ryw.Engine
	request *txn.Request
}

// Commit implements [ryw.Engine].
func (e *spyEngine) Commit(r *txn.Request) {
	e.request = r
	e.Engine.Commit(r)
}

// player is a transaction that is compared with the naive resolver.
type player struct {
	tx      kv.Transaction
	version int64 // that it reads
	spy     *spyEngine
	stamped bool     // it has written a versionstamped key
	plain   bool     // writes single keys only, and reads
	keys    [][]byte // that it may use
	reads   []kv.KeyRange
	writes  []kv.KeyRange
	stamp   kv.Future[[]byte]
	commit  kv.Future[struct{}]
	request *txn.Request
}

func (p *player) key(r *rand.Rand) []byte { return p.keys[r.IntN(len(p.keys))] }

func (p *player) keyRange(r *rand.Rand) kv.KeyRange { return tricky.RangeOf(r, p.key(r), p.key(r)) }

// act lets the transaction do something at random.
func (p *player) act(t *testing.T, r *rand.Rand) {
	t.Helper()
	key, operand := p.key(r), []byte{byte(r.IntN(2))}
	act := r.IntN(14)
	if p.plain {
		act = r.IntN(8)
	} else if r.IntN(4) == 0 {
		p.check(t, p.tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0))
	}
	switch act {
	case 0, 1:
		p.tx.Set(key, operand)
	case 2, 3:
		p.tx.Clear(key)
	case 4:
		p.tx.Atomic(kv.Add, key, operand)
	case 5:
		p.tx.Atomic(kv.CompareAndClear, key, operand)
	case 6:
		p.check(t, p.tx.AddReadConflictKey(key))
	case 7:
		p.check(t, p.tx.AddReadConflictRange(p.keyRange(r)))
	case 8:
		param := slices.Concat(key, make([]byte, 10), []byte{byte(len(key)), 0, 0, 0})
		p.tx.Atomic(kv.SetVersionstampedKey, param, operand)
		p.stamped = true
	case 9:
		p.check(t, p.tx.AddWriteConflictRange(p.keyRange(r)))
	case 10:
		p.check(t, p.tx.AddWriteConflictKey(key))
	case 11:
		p.check(t, p.tx.AddReadConflictKey(key))
	default:
		p.tx.ClearRange(p.keyRange(r))
	}
}

func (p *player) check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// submit begins the commit. Only then it asks for the conflict ranges: that brings
// the writes in order, which a commit of single keys does without.
func (p *player) submit(t *testing.T) {
	t.Helper()
	p.stamp = p.tx.GetVersionstamp()
	p.spy.request = nil
	p.commit = p.tx.CommitAsync()
	p.request = p.spy.request
	var err error
	p.reads, p.writes, err = p.tx.ConflictRanges(t.Context())
	p.check(t, err)
	if p.stamped && p.request != nil { // what is sent of stamped keys is their final one
		p.writes = keys.Merge(p.request.Writes)
	}
}

// settle compares what has become of the commit.
func (p *player) settle(t *testing.T, all *naiveResolver, forgotten int64) {
	t.Helper()
	_, err := p.commit.Get(t.Context())
	version := p.version
	switch code := kv.CodeOf(err); {
	case code == kv.CodeTransactionTooOld && version < forgotten:
		return
	case err != nil && code != kv.CodeNotCommitted:
		t.Fatal(err)
	}
	if at, _ := p.tx.GetCommittedVersion(); err == nil && at < 0 {
		return // it wrote nothing
	}
	if want := all.conflict(p.reads, version); (want != nil) != (err != nil) {
		t.Fatalf("reading %q: %v; the naive resolver finds %q", p.reads, err, want)
	}
	if err != nil {
		return
	}
	stamp, err := p.stamp.Get(t.Context())
	p.check(t, err)
	at, _ := p.tx.GetCommittedVersion()
	for _, m := range p.request.Mutations {
		if m.Op == kv.SetVersionstampedKey { // and was not cleared later on
			p.writes = append(p.writes, keys.Single(mutation.FillStamp(m.Key, stamp)))
		}
	}
	*all = append(*all, commitRecord{at, p.writes})
}

// TestResolverModel compares the decisions on transactions of every kind with
// those of a resolver that compares everything with everything.
func TestResolverModel(t *testing.T) {
	random, rounds := seed.Rand(t), 400
	if testing.Short() {
		rounds = 60
	}
	for round := range rounds {
		db, err := OpenMemory()
		if round%2 == 1 {
			db, err = Open("db", tiny(vfs.NewMem()))
		}
		if err != nil {
			t.Fatal(err)
		}
		playRound(t, db, random)
		closeTest(t, db)
	}
}

func playRound(t *testing.T, db *Database, random *rand.Rand) {
	var (
		all  naiveResolver
		open []*player
		keys [][]byte
	)
	for range 5 + random.IntN(30) {
		keys = append(keys, tricky.Key(random))
	}
	spy := &spyEngine{Engine: &engine{db}}
	db.client = ryw.NewClient(spy, kv.TransactionOptions{})
	for range 60 {
		for len(open) < 12 {
			tx := begin(t, db)
			plain := random.IntN(3) > 0
			if !plain && random.IntN(4) == 0 {
				if err := tx.SetOption(kv.OptionReadYourWritesDisable, 0); err != nil {
					t.Fatal(err)
				}
			}
			open = append(open, &player{tx: tx, version: readVersion(t, tx), spy: spy, plain: plain, keys: keys})
		}
		for _, p := range open {
			for range random.IntN(2) {
				p.act(t, random)
			}
		}
		var going []*player
		for n := min(random.IntN(5), len(open)); n > 0; n-- {
			i := random.IntN(len(open))
			going = append(going, open[i])
			open = slices.Delete(open, i, i+1)
		}
		resume := db.committer.Pause() // so that they make one batch
		for _, p := range going {
			p.submit(t)
			db.readers.Wait() // for the inputs of its atomic operations: then it is queued
		}
		resume()
		for _, p := range going {
			p.settle(t, &all, db.Metrics().AbsorbedVersion)
		}
		if db.disk != nil && random.IntN(6) == 0 && len(all) > 0 {
			d := all[len(all)-1-random.IntN(min(len(all), 20))]
			if err := db.disk.absorber.AbsorbTo(d.version); err != nil {
				t.Fatal(err)
			}
		}
	}
}
