// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/placement/host"
)

// tellers move money between accounts. They call actors in any process, and repeat calls without
// an answer: each half of a transfer may be repeated.
type tellers struct {
	withdraw *host.Method[Withdrawal, Balance]
	deposit  *host.Method[Deposit, Balance]
	ids      idgen.Generator
	names    []string // of the accounts

	mu           sync.Mutex
	acknowledged []idgen.ID
	refused      int // because there was not enough money
	repeated     int // calls
	longest      time.Duration
}

// patience is how long a teller waits for an answer before it asks again.
const patience = time.Second

// workTogether makes transfers with n tellers until stop is closed. They finish the transfers that
// they have begun, unless ctx ends.
func (t *tellers) workTogether(ctx context.Context, n int, stop <-chan struct{}) error {
	var all sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		all.Go(func() { failed[i] = t.workAlone(ctx, stop) })
	}
	all.Wait()
	return errors.Join(failed...)
}

func (t *tellers) workAlone(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := t.moveOnce(ctx); err != nil {
			return err
		}
	}
}

// moveOnce moves some money from one account to another. The transfer's ID is made before the
// first attempt, and identifies it in all others.
func (t *tellers) moveOnce(ctx context.Context) error {
	id, err := t.ids.Next(ctx)
	if err != nil {
		return err
	}
	from := rand.IntN(len(t.names))
	to := (from + 1 + rand.IntN(len(t.names)-1)) % len(t.names)
	began, withdrawal := time.Now(), Withdrawal{Transfer: id, To: t.names[to], Amount: 1 + rand.Int64N(100)}
	err = t.repeatUntilAnswered(ctx, func(ctx context.Context) error {
		_, err := t.withdraw.Call(ctx, t.names[from], withdrawal)
		return err
	})
	if err == nil {
		err = t.finishTransfer(ctx, id, t.names[to])
	}
	t.noteTransfer(id, time.Since(began), err)
	if errors.Is(err, ErrInsufficient) {
		return nil
	}
	return err
}

// finishTransfer does the second half of a transfer.
func (t *tellers) finishTransfer(ctx context.Context, id idgen.ID, to string) error {
	return t.repeatUntilAnswered(ctx, func(ctx context.Context) error {
		_, err := t.deposit.Call(ctx, to, Deposit{Transfer: id})
		return err
	})
}

// repeatUntilAnswered repeats a call until there is an answer: that it is done, or that there is not
// enough money.
func (t *tellers) repeatUntilAnswered(ctx context.Context, call func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, patience)
		err := call(attempt)
		cancel()
		if err == nil || errors.Is(err, ErrInsufficient) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		t.mu.Lock()
		t.repeated++
		t.mu.Unlock()
		pause(ctx, time.Duration(rand.Int64N(int64(patience/10))))
	}
}

// pause waits, but not beyond ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// noteTransfer counts a transfer.
func (t *tellers) noteTransfer(id idgen.ID, took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.longest = max(t.longest, took)
	switch {
	case err == nil:
		t.acknowledged = append(t.acknowledged, id)
	case errors.Is(err, ErrInsufficient):
		t.refused++
	}
}

// doneCount returns how many transfers are done.
func (t *tellers) doneCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.acknowledged)
}
