// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/placement"
)

// testRandom makes random calls by three members, live and stale ones, and compares each
// answer with a model's.
func testRandom(f *fixture) {
	r := &randomRun{fixture: f, Rand: seed.Rand(f.TB), keys: map[placement.Key]*keyModel{}}
	for i := range 3 {
		r.alive = append(r.alive, f.startMember(fmt.Sprintf("m%d", i)))
	}
	steps := []func(){r.claimNew, r.claimNew, r.claimAgain, r.storeAny, r.storeAny, r.releaseAny, r.removeAny, r.loadAny}
	for range 400 {
		if r.IntN(25) == 0 {
			r.replaceMember()
			continue
		}
		steps[r.IntN(len(steps))]()
	}
}

// randomRun is a run of random calls, with a model of what the home has.
type randomRun struct {
	*fixture
	*rand.Rand
	alive  []placement.Owner
	keys   map[placement.Key]*keyModel
	leases []core.Lease // all that were granted
}

// keyModel is what the model knows of a key.
type keyModel struct {
	epoch   int64 // the greatest so far
	command core.TryAcquire
	lease   core.Lease // in force; the zero Lease: none
	ended   bool       // its owner is dead, or it has lapsed, but no other owner has the key
	entry   *core.ActivationEntry
}

func (m *keyModel) isHeldBy(l core.Lease) bool {
	return m.lease.Epoch != 0 && m.lease.Epoch == l.Epoch && m.lease.Owner == l.Owner
}

func (r *randomRun) anyKey() (placement.Key, *keyModel) {
	k := placement.Key{Kind: "thing", ID: strconv.Itoa(r.IntN(3))}
	if r.keys[k] == nil {
		r.keys[k] = &keyModel{}
	}
	return k, r.keys[k]
}

// anyLease returns one that was granted, most often a recent one.
func (r *randomRun) anyLease() (core.Lease, *keyModel) {
	if len(r.leases) == 0 {
		r.claimNew()
		return r.anyLease()
	}
	back := r.IntN(min(len(r.leases), 1+r.IntN(12)))
	l := r.leases[len(r.leases)-1-back]
	return l, r.keys[l.Key]
}

func (r *randomRun) claimNew() {
	r.Helper()
	k, m := r.anyKey()
	c := r.newClaim(r.alive[r.IntN(len(r.alive))], k)
	if m.lease.Epoch != 0 && !m.ended && m.lease.Owner != c.Owner {
		l, err := r.Lock.TryAcquire(r.ctx, c)
		r.checkHeld(l, err, m.lease)
		return
	}
	l := r.mustAcquire(c)
	if l.Epoch <= m.epoch {
		r.Fatalf("epoch %d of %s follows %d", l.Epoch, k, m.epoch)
	}
	if l.Loaded {
		r.checkSame(l.Entry, m.entry)
	}
	m.epoch, m.command, m.lease, m.ended = l.Epoch, c, l, false
	r.leases = append(r.leases, l)
}

// claimAgain repeats the claim that is in force.
func (r *randomRun) claimAgain() {
	r.Helper()
	if _, m := r.anyKey(); m.lease.Epoch != 0 && !m.ended {
		r.checkSameLease(r.mustAcquire(m.command), m.lease)
	}
}

func (r *randomRun) storeAny() {
	r.Helper()
	l, m := r.anyLease()
	e := r.newEntry(l)
	e.Record.Version = r.Uint64()
	e.Record.Snapshot = slices.Repeat([]byte{byte(r.IntN(256))}, r.IntN(200))
	err := r.Storage.Store(r.ctx, l, e)
	switch {
	case m.isHeldBy(l) && m.ended && err == nil: // the home may allow that while no other owner has the key
		m.entry = &e
	case m.isHeldBy(l) && !m.ended:
		if err != nil {
			r.Fatalf("storing under epoch %d of %s: %v", l.Epoch, l.Owner, err)
		}
		m.entry = &e
	default:
		r.checkStaleStorage("a stale store", "store", err)
	}
}

func (r *randomRun) releaseAny() {
	r.Helper()
	l, m := r.anyLease()
	err := r.Lock.Release(r.ctx, l)
	switch {
	case m.isHeldBy(l) && (!m.ended || err == nil):
		if err != nil {
			r.Fatalf("releasing epoch %d of %s: %v", l.Epoch, l.Owner, err)
		}
		r.noteFreed(l, m)
	case m.lease.Epoch == 0 && err == nil: // released already
	default:
		r.checkStaleLock("a stale release", err)
	}
}

// noteFreed notes that a lease was released. Where that is the activation, its entry
// goes with it; one that the same owner stored under an earlier lease may.
func (r *randomRun) noteFreed(l core.Lease, m *keyModel) {
	r.Helper()
	m.lease, m.ended = core.Lease{}, false
	if !l.Kept || m.entry == nil || m.entry.Owner != l.Owner {
		return
	}
	left, err := r.Storage.Load(r.ctx, l.Key)
	if err != nil {
		r.Fatal(err)
	}
	if left == nil || m.entry.Epoch == l.Epoch {
		m.entry = nil
	}
}

func (r *randomRun) removeAny() {
	r.Helper()
	l, m := r.anyLease()
	own := m.entry != nil && m.entry.Owner == l.Owner && m.entry.Epoch == l.Epoch
	if m.isHeldBy(l) && l.Kept && !own {
		return // a claim that was not stored is released, not removed
	}
	err := r.Storage.Remove(r.ctx, l.Key, l.Owner, l.Epoch)
	switch claimed := l.Kept && m.lease.Epoch != 0 && !m.isHeldBy(l); {
	case claimed && own && err == nil: // the home may also refuse: the claim has moved on
		m.entry = nil
	case claimed, m.entry != nil && !own:
		r.checkStaleStorage("a stale removal", "remove", err)
	case err != nil:
		r.Fatalf("removing epoch %d of %s: %v", l.Epoch, l.Owner, err)
	default:
		r.noteRemoved(l, m)
	}
}

func (r *randomRun) noteRemoved(l core.Lease, m *keyModel) {
	m.entry = nil
	if l.Kept && m.isHeldBy(l) {
		m.lease, m.ended = core.Lease{}, false
	}
}

func (r *randomRun) loadAny() {
	r.Helper()
	k, m := r.anyKey()
	r.checkStored(k, m.entry)
}

// replaceMember lets a member die or leave, and its name come back.
func (r *randomRun) replaceMember() {
	r.Helper()
	i := r.IntN(len(r.alive))
	gone := r.alive[i]
	if r.IntN(2) == 0 || r.TTL > 0 {
		r.killMember(gone)
	} else {
		r.leaveCluster(gone)
	}
	for _, m := range r.keys {
		if m.lease.Epoch != 0 && (r.TTL > 0 || m.lease.Owner == gone) {
			m.ended = true
		}
	}
	r.alive[i] = r.startMember(gone.Name)
	if r.Kill != nil {
		_, err := r.Lock.TryAcquire(r.ctx, r.newClaim(gone, placement.Key{Kind: "thing", ID: "0"}))
		if !errors.Is(err, placement.ErrStale) && !errors.Is(err, placement.ErrHeld) {
			r.Fatalf("a claim of a dead owner: got %v", err)
		}
	}
}

// ledger notes which owner has which key.
type ledger struct {
	mu      sync.Mutex
	holders map[placement.Key]core.Lease
	last    map[placement.Key]int64
	granted int
	faults  []string
}

func (b *ledger) check(ok bool, format string, args ...any) {
	if ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// noteGrant notes a lease that was granted. It can be given on only once its owner
// has noted that it gives it back, so that leases are noted in their order.
func (b *ledger) noteGrant(l core.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.granted++
	if other, held := b.holders[l.Key]; held {
		b.faults = append(b.faults, fmt.Sprintf("%s got %s while %s had it", l.Owner, l.Key, other.Owner))
	}
	if l.Epoch <= b.last[l.Key] {
		b.faults = append(b.faults, fmt.Sprintf("%s got epoch %d of %s after epoch %d", l.Owner, l.Epoch, l.Key, b.last[l.Key]))
	}
	b.holders[l.Key], b.last[l.Key] = l, l.Epoch
}

// noteReturn notes that a lease is about to be given back.
func (b *ledger) noteReturn(l core.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holders, l.Key)
}
