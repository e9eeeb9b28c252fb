// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

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
		return outcome{refusal: &QuarantineError{ServiceID: a.request.service, Until: time.UnixMilli(quarantine)}}, nil
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
		keys = append(keys, a.request.budget.key())
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
	_, err = a.tx.decode(a.request.budget.key(), values[0], &a.account)
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
	if lease.From > last {
		return &idgen.TimeRangeError{Time: time.UnixMilli(lease.From), First: layout.First(), Last: layout.Last()}
	}
	b.grantTo(holder{
		Created: lease.From, Expired: min(lease.Until, last+1), Charge: a.chargeAccount(lease, 1<<b.BitSeq),
		Secret: randomHex(), Request: a.request.keyText(), Meta: a.request.meta,
	}, passed)
	if a.request.config.Plain {
		b.EndNotBefore = b.NotBefore // it is not continued
	}
	a.tx.putBlock(b)
	return nil
}
