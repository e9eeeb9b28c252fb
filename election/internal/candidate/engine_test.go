// SPDX-License-Identifier: Apache-2.0

package candidate_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// TestModel runs random interleaved transactions on the model and, by package leasefdb, on
// the embedded engine. Every answer, every conflict and the states must agree.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := seed.Of(t)
		var conflicts, taken int
		for run := range uint64(100) {
			p := pair{t: t, rng: rand.New(rand.NewPCG(seed, run)), db: enginetest.InProcess(t), grants: map[string]leasefdb.Grant{}}
			var err error
			if p.names, err = leasefdb.NewNames(p.db, nil); err != nil {
				t.Fatal(err)
			}
			p.model.state.Name = "job"
			for range 200 {
				p.step()
			}
			conflicts, taken = conflicts+p.conflicts, taken+p.taken
		}
		if conflicts < 100 || taken < 50 {
			t.Errorf("it proves little: %d conflicts, %d takeovers", conflicts, taken)
		}
	})
}

// pair is the model and the engine, with some transactions in the middle.
type pair struct {
	t                *testing.T
	rng              *rand.Rand
	model            store
	db               kv.Database
	names            *leasefdb.Names
	grants           map[string]leasefdb.Grant // by request
	seen             leasefdb.Observation
	open             []both
	conflicts, taken int
}

// both is a transaction of both.
type both struct {
	what    string
	model   *attempt
	tx      kv.Transaction
	granted leasefdb.Grant // by a commit
}

func (p *pair) step() {
	switch n := p.rng.IntN(10); {
	case len(p.open) < 3 && n < 5:
		p.begin()
	case len(p.open) > 0 && n < 8:
		p.commit(p.rng.IntN(len(p.open)))
	case n == 8:
		time.Sleep(time.Duration(p.rng.IntN(2000)) * time.Millisecond)
	default:
		p.look()
	}
}

// begin starts a transaction, and does all but its commit.
func (p *pair) begin() {
	ctx := context.Background()
	tx, err := p.db.Begin()
	if err != nil {
		p.t.Fatal(err)
	}
	b := both{model: p.model.begin(), tx: tx}
	var grant leasefdb.Grant
	for _, g := range p.grants { // any
		if grant = g; p.rng.IntN(3) == 0 {
			break
		}
	}
	request := fmt.Sprint("request ", p.rng.IntN(6))
	if grant.Epoch > 0 {
		request = p.requestOf(grant)
	}
	switch n := p.rng.IntN(4); {
	case n == 0 || grant.Epoch == 0:
		request = fmt.Sprint("request ", p.rng.IntN(6))
		lease := time.Second
		b.what = "claim"
		g, err := p.names.Claim(ctx, tx, "job", leasefdb.Claim{Holder: "me", RequestID: request, Duration: lease, Seen: p.seen})
		epoch, granted := b.model.claim(p.seen, "me", request, lease, time.Now())
		if granted != (err == nil) || err != nil && !errors.Is(err, leasefdb.ErrHeld) || granted && epoch != g.Epoch {
			p.t.Fatalf("claim: the engine says %d, %v, the model %d, %v", g.Epoch, err, epoch, granted)
		}
		if b.granted = g; granted && b.model.state.Held() && b.model.state.Request != request {
			p.taken++
		}
	case n == 1:
		b.what = "renew"
		_, err := grant.Renew(ctx, tx)
		p.agree(b.what, err, b.model.renew(grant.Epoch, request))
	case n == 2:
		b.what = "release"
		if err := grant.Release(ctx, tx); err != nil {
			p.t.Fatal(err)
		}
		b.model.release(grant.Epoch, request)
	default:
		b.what = "write"
		err := grant.Check(ctx, tx)
		p.agree(b.what, err, b.model.check(grant.Epoch, request))
		if err == nil {
			tx.Set([]byte("log"), binary.BigEndian.AppendUint64(nil, uint64(grant.Epoch)))
			b.model.write(grant.Epoch)
		}
	}
	p.open = append(p.open, b)
}

func (p *pair) requestOf(g leasefdb.Grant) string {
	for request, other := range p.grants {
		if other.Epoch == g.Epoch {
			return request
		}
	}
	return ""
}

// agree checks that the engine and the model agree on whether a grant is in force.
func (p *pair) agree(what string, err error, inForce bool) {
	p.t.Helper()
	if inForce != (err == nil) || err != nil && !errors.Is(err, leasefdb.ErrLeaseLost) {
		p.t.Fatalf("%s: the engine says %v, the model %v", what, err, inForce)
	}
}

func (p *pair) commit(i int) {
	b := p.open[i]
	p.open = append(p.open[:i:i], p.open[i+1:]...)
	defer b.tx.Cancel()
	err := b.tx.Commit(context.Background())
	if kv.CodeOf(err) == kv.CodeTransactionTooOld {
		return // it was open for five seconds
	}
	committed := p.model.commit(b.model)
	if committed != (err == nil) || err != nil && !kv.IsConflict(err) {
		p.t.Fatalf("%s: the engine's commit says %v, the model's %v", b.what, err, committed)
	}
	if !committed {
		p.conflicts++
	} else if b.granted.Epoch > 0 {
		p.grants[b.model.next.Request] = b.granted
	}
}

// look compares the states, and observes.
func (p *pair) look() {
	state, err := p.names.Get(context.Background(), p.db, "job")
	if err != nil || state != p.model.state {
		p.t.Fatalf("the engine has %+v (%v), the model %+v", state, err, p.model.state)
	}
	if state.Held() {
		p.seen = p.seen.Observe(state, time.Now())
	}
	log, err := kv.ReadTransact(context.Background(), p.db, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get([]byte("log")).Get(context.Background())
	})
	if err != nil || len(log) > 0 && int64(binary.BigEndian.Uint64(log)) != p.model.logged {
		p.t.Fatalf("the engine's log ends with %x (%v), the model's with %d", log, err, p.model.logged)
	}
}
