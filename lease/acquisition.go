// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
)

// acquireRequest is a valid request for leases. No transaction changes it.
type acquireRequest struct {
	service    string
	config     ServiceConfig
	throughput int    // positions of a millisecond
	bitSeq     int    // the size of one block that has them all, if half of the space does
	keyHash    []byte // of the request key; nil without one
	meta       map[string]string
	budget     *refusal.Budget // nil: none
	replaces   []leaseRef      // distinct
	maxLeases  int
}

// keyText returns the hash of the request key as blocks keep it: in hexadecimal,
// empty without a key.
func (r *acquireRequest) keyText() string { return hex.EncodeToString(r.keyHash) }

// exhausted returns the refusal of a request that cannot be met.
func (r *acquireRequest) exhausted() error {
	return &refusal.ExhaustedError{ServiceID: r.service, Throughput: r.throughput}
}

// addReplaces adds the leases that the request replaces. One that the service cannot have
// replaces nothing.
func (r *acquireRequest) addReplaces(refs []idgen.LeaseRef) {
	for _, ref := range refs {
		base, err := r.config.baseOf(ref.ID, ref.SequenceBits)
		known := slices.ContainsFunc(r.replaces, func(l leaseRef) bool { return l.Base == base })
		if err == nil && !known {
			r.replaces = append(r.replaces, leaseRef{Base: base, Created: ref.Created})
		}
	}
}

// acquisition is one transaction of [Server.Acquire].
type acquisition struct {
	tx      *serviceTx
	request *acquireRequest

	repeat   []byte        // the value that is stored under the request key; nil if there is none
	account  accountRecord // of the request's budget
	replaces []*block      // those in force that the request replaces, and that count in the account; nil for one that may not
	expired  []byte        // the forgetKey of an earlier grant for the request key that no longer holds
}

// run reads, decides and writes. It writes nothing before its last read.
func (a *acquisition) run(ctx context.Context) (outcome, error) {
	if err := a.read(ctx); err != nil {
		return outcome{}, err
	}
	if !a.tx.isReady() {
		return outcome{refusal: errNoService, next: createService}, nil
	}
	quarantine, err := a.tx.openService()
	if err != nil {
		return outcome{}, err
	}
	if quarantine > a.tx.now {
		return outcome{refusal: &refusal.QuarantineError{ServiceID: a.request.service, Until: time.UnixMilli(quarantine)}}, nil
	}
	if leases, err := a.findRepeat(ctx); err != nil || leases != nil {
		return outcome{leases: leases}, err
	}
	if err := a.forgetRequests(ctx); err != nil {
		return outcome{}, err
	}
	if err := a.checkBudget(); err != nil {
		return outcome{refusal: err}, nil
	}
	return a.grant(ctx)
}

// read reads, in one round, what every acquisition needs: the service's record,
// what was granted for the request key, and the account of the budget.
func (a *acquisition) read(ctx context.Context) error {
	var keys [][]byte
	if a.request.keyHash != nil {
		keys = append(keys, requestRecordKey(a.request.keyHash))
	}
	if a.request.budget != nil {
		keys = append(keys, budgetKey(a.request.budget))
		for _, ref := range a.request.replaces {
			keys = append(keys, blockKey(ref.Base))
		}
	}
	values, err := a.tx.load(ctx, keys...)
	if err != nil {
		return err
	}
	if a.request.keyHash != nil {
		a.repeat, values = values[0], values[1:]
	}
	if a.request.budget == nil {
		return nil
	}
	a.decodeReplaces(values[1:])
	_, err = a.tx.decode(budgetKey(a.request.budget), values[0], &a.account)
	return err
}

// grant searches for free blocks in one window after the other, and leases the
// first ones that suffice.
func (a *acquisition) grant(ctx context.Context) (outcome, error) {
	if err := a.tx.checkClock(); err != nil {
		return outcome{}, err
	}
	for _, w := range a.tx.windows() {
		s := search{tx: a.tx, request: a.request, window: w}
		blocks, err := s.findBlocks(ctx)
		switch {
		case errors.Is(err, errStaleQueue):
			return outcome{refusal: err, next: retry}, nil
		case err != nil:
			return outcome{}, err
		case blocks != nil:
			return a.grantBlocks(&s, blocks)
		case s.next == retry:
			return outcome{refusal: a.request.exhausted(), next: retry}, nil
		}
	}
	return outcome{refusal: errors.Join(append([]error{a.request.exhausted()}, a.tx.damage...)...)}, nil
}

// grantBlocks leases the blocks that a search has found, and writes all that the
// transaction changes.
func (a *acquisition) grantBlocks(s *search, blocks []block) (outcome, error) {
	s.writeChanges()
	a.markReplaced()
	leases := make([]idgen.Lease, len(blocks))
	for i := range blocks {
		if err := a.grantBlock(&blocks[i]); err != nil {
			return outcome{}, err
		}
		leases[i] = a.request.config.leaseOf(&blocks[i])
	}
	a.tx.noteGrant()
	a.rememberRequest(leases)
	return outcome{leases: leases}, nil
}

// grantBlock leases one block.
func (a *acquisition) grantBlock(b *block) error {
	layout := a.request.config.Layout
	last := layout.Last().UnixMilli()
	lease, passed := b.nextLease(a.tx.earliestStart(), a.tx.duration())
	if _, err := layout.At(time.UnixMilli(lease.From)); err != nil {
		return err
	}
	b.grantTo(holder{
		Created: lease.From, Expired: min(lease.Until, last+1), Charge: a.chargeAccount(lease, 1<<b.SequenceBits),
		Secret: randomHex(), Request: a.request.keyText(), Meta: a.request.meta,
	}, passed)
	if a.request.config.Plain {
		b.EndNotBefore = b.NotBefore // it is not continued
	}
	a.tx.putBlock(b)
	return nil
}

const (
	// forgetPerCall is how many records of requests a call with a request key
	// removes: more than it adds.
	forgetPerCall = 4

	// forgetAfter is how many milliseconds such a record outlasts its leases, so
	// that no call that may still repeat the request conflicts with its removal.
	forgetAfter = 60_000
)

// findRepeat returns the leases that were granted for the request key before; nil
// if there are none, or if that grant no longer holds: one of the leases has
// ended, was released, or begins so far ahead that the clock which granted it
// must have been wrong.
func (a *acquisition) findRepeat(ctx context.Context) ([]idgen.Lease, error) {
	var record requestRecord
	if known, err := a.tx.decode(requestRecordKey(a.request.keyHash), a.repeat, &record); !known || err != nil {
		return nil, err
	}
	a.expired = forgetKey(record.Until, a.request.keyHash)
	if record.Until <= a.tx.now {
		return nil, nil
	}
	keys := make([][]byte, len(record.Leases))
	for i, ref := range record.Leases {
		keys[i] = blockKey(ref.Base)
	}
	blocks, err := a.tx.getBlocks(ctx, keys)
	if err != nil {
		return nil, err
	}
	leases := make([]idgen.Lease, len(blocks))
	for i, b := range blocks {
		if b.damage != nil {
			return nil, b.damage
		}
		if !a.holdsStill(b.block, record.Leases[i]) {
			return nil, nil
		}
		leases[i] = a.request.config.leaseOf(b.block)
	}
	return leases, nil
}

// holdsStill reports whether b is leased as ref says, and can be answered again.
func (a *acquisition) holdsStill(b *block, ref leaseRef) bool {
	if b == nil || b.Holder == nil {
		return false
	}
	h := b.Holder
	return h.Created == ref.Created && h.Request == a.request.keyText() &&
		h.Released == nil && h.Created-a.tx.now <= a.tx.duration()
}

// rememberRequest writes what was granted for the request key, if there is one.
func (a *acquisition) rememberRequest(leases []idgen.Lease) {
	if a.request.keyHash == nil {
		return
	}
	record := requestRecord{Until: leases[0].Expired}
	for _, l := range leases {
		record.Until = min(record.Until, l.Expired)
		record.Leases = append(record.Leases, leaseRef{Base: l.Base(), Created: l.Created})
	}
	if a.expired != nil {
		a.tx.set(a.expired, nil)
	}
	key := requestRecordKey(a.request.keyHash)
	a.tx.set(key, encode(key, record))
	a.tx.set(forgetKey(record.Until, a.request.keyHash), []byte{recordFormat})
}

// forgetRequests removes some records of requests after their leases have ended. A
// request without a key removes none.
func (a *acquisition) forgetRequests(ctx context.Context) error {
	if a.request.keyHash == nil {
		return nil
	}
	pairs, err := a.tx.store.Scan(ctx, []byte{keyForget}, forgetKey(max(a.tx.now-forgetAfter, 0), nil), forgetPerCall)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		hash, ok := forgetHash(pair.Key)
		if !ok {
			a.tx.damage = append(a.tx.damage, &refusal.CorruptError{ServiceID: a.request.service, Key: pair.Key, Cause: errKeyLength})
			continue
		}
		a.tx.set(pair.Key, nil)
		a.tx.set(requestRecordKey(hash), nil)
	}
	return nil
}

// checkBudget returns a [refusal.BudgetError] if the request passes its budget. The leases that
// it replaces do not count: their holder gives them back when it has the new ones. As
// it may not do so, they count in a budget of their own, which is as large, until they
// end or are released, and each is replaced once. So an account has leased twice its
// budget at most.
func (a *acquisition) checkBudget() error {
	budget := a.request.budget
	if budget == nil {
		return nil
	}
	leased, replaced := a.account.dropEnded(a.tx.now)
	for i, b := range a.replaces {
		if b == nil || replaced >= budget.PerMs {
			a.replaces[i] = nil
			continue
		}
		leased, replaced = leased-int(b.size()), replaced+int(b.size())
	}
	if a.request.throughput > budget.PerMs-leased {
		return &refusal.BudgetError{ServiceID: a.request.service, Throughput: a.request.throughput, Leased: leased, PerMs: budget.PerMs}
	}
	return nil
}

// decodeReplaces takes the blocks of the leases that the request replaces out of the
// values that were read: those in force that count in the account, and were not replaced
// before. A damaged one is left alone.
func (a *acquisition) decodeReplaces(values [][]byte) {
	account := hex.EncodeToString(accountHash(a.request.budget.Account))
	for i, ref := range a.request.replaces {
		key := blockKey(ref.Base)
		if values[i] == nil {
			continue
		}
		b, err := a.tx.decodeBlock(key, values[i])
		if err != nil || b.Holder == nil {
			continue
		}
		h := b.Holder
		counts := h.Charge != nil && h.Charge.Account == account && !h.Charge.Replaced && h.Charge.Until > a.tx.now
		if counts && h.Created == ref.Created && h.Created <= a.tx.now && h.Released == nil {
			a.replaces = append(a.replaces, b)
		}
	}
}

// markReplaced counts the replaced leases as such, except where the search has moved or taken
// the block: such a lease ends in less than [lead], and its block must stay as it is written.
func (a *acquisition) markReplaced() {
	for _, b := range a.replaces {
		if b == nil || a.tx.hasWrite(blockKey(b.base)) {
			continue
		}
		a.account.markReplaced(*b.Holder.Charge, int(b.size()))
		b.Holder.Charge.Replaced = true
		a.tx.putBlock(b)
	}
}

// chargeAccount adds a lease to the account of the budget, and returns what the
// block keeps of that; nil without a budget.
func (a *acquisition) chargeAccount(lease span, positions int) *charge {
	budget := a.request.budget
	if budget == nil {
		return nil
	}
	entry := a.account.entryFor(lease.Until, a.tx.duration())
	entry.PerMs += positions
	a.tx.set(budgetKey(budget), encode(budgetKey(budget), &a.account))
	return &charge{Account: hex.EncodeToString(accountHash(budget.Account)), Until: entry.Until}
}

// outcome is the result of one transaction of [Server.Acquire]. The transaction
// is committed whatever the outcome is: one that grants nothing may have begun a
// quarantine, or corrected the queue of free blocks.
type outcome struct {
	leases  []idgen.Lease // what was granted; nil if nothing was
	refusal error         // why nothing was granted; of a retry, what the last attempt returns
	next    nextStep
}

// nextStep is what Acquire does after a transaction.
type nextStep int

const (
	answer        nextStep = iota // return the leases or the refusal
	retry                         // run another transaction
	createService                 // create the service, then run another transaction
)

var (
	// errStaleQueue says that an entry of the queue of free blocks and its block
	// disagree: another transaction changed the block after the queue was
	// scanned. If it happens in all attempts, the store is corrupt.
	errStaleQueue = errors.New("lease: the queue of free blocks was outdated")

	// errNoService says that the service is not in the store, or is about to be
	// removed.
	errNoService = errors.New("lease: the service is not in the store")
)
