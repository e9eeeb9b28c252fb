// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

const (
	// lead is how far ahead of the clock a lease may begin, where none can be
	// had at once: a moment after a release, say. Its holder waits that long.
	lead = 1000

	// rounds bounds the transactions of one call, for when what the scans
	// returned turned out to be outdated, or had to be set right first.
	rounds = 8

	// forgetPerCall is how many records of requests a call with a request key
	// removes: more than it adds.
	forgetPerCall = 4

	// forgetAfter is how long such a record outlasts its leases, so that no
	// call that may still repeat the request meets its removal.
	forgetAfter = 60_000
)

// errAgain says that the transaction should be run once more.
var errAgain = errors.New("lease: the queue of free blocks was outdated")

// Acquire implements [idgen.LeaseProvider]. It grants one lease if there are
// that many adjacent positions free, else several. Errors: [ErrInvalid],
// [ErrUnknownService], [ErrTooManyServices], [*ExhaustedError], [*BudgetError], [*QuarantineError], [*CustomEpochError],
// [*CorruptError], [*idgen.TimeRangeError] if the store's clock is outside of
// what the layout can express, and those of the store.
func (s *Server) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	service, config, err := s.options.service(req.ServiceID)
	if err != nil {
		return nil, err
	}
	throughput, bitSeq, err := s.options.checkRequest(req, config)
	if err != nil {
		return nil, fmt.Errorf("lease: acquire for service %q: %w", service, err)
	}
	a := acquisition{req: req, throughput: throughput, bitSeq: bitSeq, budget: budgetOf(ctx)}
	if a.budget != nil {
		a.budget.applied.Store(true)
	}
	if req.RequestKey != "" {
		a.request = hex.EncodeToString(requestHash(req.RequestKey))
	}
	for range rounds {
		err = s.update(ctx, service, config, func(ses *session) error {
			a.session, a.stored, a.outlived, a.leases, a.refused = ses, nil, nil, nil, nil
			return a.run(ctx)
		})
		if err != nil {
			break
		}
		if errors.Is(a.refused, errUnfounded) {
			if err = s.found(ctx, service, config); err != nil {
				break
			}
			err = errUnfounded
			continue
		}
		s.saw(service, a.record)
		if err = a.refusal(); !errors.Is(a.refused, errAgain) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lease: acquire for service %q: %w", service, err)
	}
	return a.leases, nil
}

// acquisition is one call of Acquire; the session is that of the transaction
// under way.
type acquisition struct {
	*session
	req        idgen.AcquireRequest
	request    string // hash of the request key, hexadecimal; empty without one
	throughput int
	bitSeq     int // of the block to look for
	budget     *Budget
	account    accountRecord // of the budget

	stored   *frontierRecord // what the store has; nil if it was not read
	outlived []byte          // the forgetKey of what was granted for the request key, but no longer holds
	leases   []idgen.Lease
	refused  error // what Acquire returns although the transaction is committed
}

// run is the transaction.
func (a *acquisition) run(ctx context.Context) error {
	hash := requestHash(a.req.RequestKey)
	request, err := a.read(ctx, requestRecordKey(hash))
	if err != nil {
		return err
	}
	if !a.founded() {
		a.refused = errUnfounded
		return nil
	}
	quarantine, err := a.open()
	if err != nil {
		return err
	}
	if quarantine > a.now {
		a.refused = &QuarantineError{ServiceID: a.service, Until: time.UnixMilli(quarantine)}
		return nil
	}
	if a.req.RequestKey != "" {
		if done, err := a.repeat(ctx, requestRecordKey(hash), request); done || err != nil {
			return err
		}
		if err := a.forget(ctx); err != nil {
			return err
		}
	}
	if a.refused = a.afford(); a.refused != nil {
		return nil
	}
	if err := a.grant(ctx); err != nil || a.refused != nil {
		return err
	}
	if a.record.granted(a.server.id, a.now, a.config.Duration.Milliseconds()) {
		a.save()
	}
	if a.req.RequestKey != "" {
		a.remember(hash)
	}
	return nil
}

// read reads in one round what every acquisition needs, and returns the value of
// the record of its request key.
func (a *acquisition) read(ctx context.Context, request []byte) ([]byte, error) {
	keys := [][]byte{request}
	if a.req.RequestKey == "" {
		keys = nil
	}
	var account []byte
	if a.budget != nil {
		account = accountKey(accountHash(a.budget.Account))
		keys = append(keys, account)
	}
	values, err := a.load(ctx, keys...)
	if err != nil {
		return nil, err
	}
	if a.account = (accountRecord{}); account != nil {
		if _, err := a.decode(account, values[len(values)-1], &a.account); err != nil {
			return nil, err
		}
	}
	if a.req.RequestKey == "" {
		return nil, nil
	}
	return values[0], nil
}

// repeat answers from what was granted for the request key before, and reports
// whether that is still so: none of the leases has ended, was released, or
// begins so far ahead that the clock which granted it must have been wrong.
func (a *acquisition) repeat(ctx context.Context, key, value []byte) (bool, error) {
	var record requestRecord
	if known, err := a.decode(key, value, &record); !known || err != nil {
		return false, err
	}
	a.outlived = forgetKey(record.Until, key[1:])
	if record.Until <= a.now {
		return false, nil
	}
	keys := make([][]byte, len(record.Leases))
	for i, ref := range record.Leases {
		keys[i] = blockKey(ref.Base)
	}
	blocks, err := a.blocks(ctx, keys)
	if err != nil {
		return false, err
	}
	leases := make([]idgen.Lease, len(blocks))
	for i, b := range blocks {
		if b == nil || b.Holder == nil || b.Holder.Created-a.now > a.config.Duration.Milliseconds() || b.Holder.Released != nil || b.Holder.Created != record.Leases[i].Created || b.Holder.Request != a.request {
			return false, nil
		}
		leases[i] = a.config.lease(b)
	}
	a.leases = leases
	return true, nil
}

// remember notes what was granted for the request key.
func (a *acquisition) remember(hash []byte) {
	record := requestRecord{Until: a.leases[0].Expired}
	for _, l := range a.leases {
		record.Until = min(record.Until, l.Expired)
		record.Leases = append(record.Leases, leaseRef{Base: l.Base(), Created: l.Created})
	}
	if a.outlived != nil {
		a.set(a.outlived, nil)
	}
	key := requestRecordKey(hash)
	a.set(key, encode(key, record))
	a.set(forgetKey(record.Until, hash), []byte{recordFormat})
}

// forget removes some records of requests whose leases have ended.
func (a *acquisition) forget(ctx context.Context) error {
	pairs, err := a.tx.Scan(ctx, []byte{keyForget}, forgetKey(max(a.now-forgetAfter, 0), nil), forgetPerCall)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		hash, ok := forgetHash(pair.Key)
		if !ok {
			return &CorruptError{ServiceID: a.service, Key: pair.Key, Cause: errKeyLength}
		}
		a.set(pair.Key, nil)
		a.set(requestRecordKey(hash), nil)
	}
	return nil
}

// earliest returns when leases can begin.
func (ses *session) earliest() int64 { return max(ses.now, ses.record.Floor) }

// checkClock refuses a time that the layout cannot express.
func (ses *session) checkClock() error {
	layout := ses.config.Layout
	if now := time.UnixMilli(ses.now); now.Before(layout.First()) || now.After(layout.Last()) {
		return &idgen.TimeRangeError{Time: now, First: layout.First(), Last: layout.Last()}
	}
	return nil
}

// blocks reads blocks, serializably; nil where there is none.
func (ses *session) blocks(ctx context.Context, keys [][]byte) ([]*block, error) {
	values, err := ses.tx.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	blocks := make([]*block, len(keys))
	for i, value := range values {
		if value == nil {
			continue
		}
		if blocks[i], err = ses.block(keys[i], value); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// block decodes a block.
func (ses *session) block(key, value []byte) (*block, error) {
	corrupt := func(err error) error { return &CorruptError{ServiceID: ses.service, Key: key, Cause: err} }
	base, ok := blockBase(key)
	if !ok {
		return nil, corrupt(errKeyLength)
	}
	b := &block{base: base}
	if err := decode(ses.service, key, value, b); err != nil {
		return nil, err
	}
	if b.base%b.size() != 0 || b.base+b.size() > 1<<ses.config.spaceBits() {
		return nil, corrupt(fmt.Errorf("2^%d positions do not begin there", b.BitSeq))
	}
	return b, nil
}

var errKeyLength = errors.New("the key is not one of this package")

// put writes a block and its entry in the queue.
func (ses *session) put(b *block) {
	ses.set(blockKey(b.base), encode(blockKey(b.base), b))
	ses.set(freeKey(b.BitSeq, b.Fence, b.base), []byte{recordFormat})
}

// drop removes a block and its entry in the queue.
func (ses *session) drop(b *block) {
	ses.set(blockKey(b.base), nil)
	ses.set(freeKey(b.BitSeq, b.Fence, b.base), nil)
}
