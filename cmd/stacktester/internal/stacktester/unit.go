// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// check tests a promise of the contract for which there is no instruction, in
// a transaction of its own and on one key.
type check struct {
	name string
	run  func(ctx context.Context, db kv.Database, tx kv.Transaction, key []byte) error
}

var checks = []check{
	{"options", checkOptions},
	{"cancellation", checkCancellation},
	{"retry limit", checkRetryLimit},
	{"timeout", checkTimeout},
	{"size limit", checkSizeLimit},
	{"approximate size", checkApproximateSize},
	{"watches", checkWatches},
}

// checksLast bounds the time of all checks together.
const checksLast = time.Minute

// unitTests runs the checks; the program fails with the first that does.
func unitTests(c *call) error {
	ctx, stop := context.WithTimeout(c.ctx, checksLast)
	defer stop()
	key := tuple.Tuple{"stacktester", c.prefix}.MustPack()
	for _, check := range checks {
		tx, err := c.db.Begin()
		if err != nil {
			return err
		}
		err = check.run(ctx, c.db, tx, key)
		tx.Cancel()
		if err != nil {
			// %v: an error of the engine must not become an item of the stack.
			return fmt.Errorf("the check of %s: %v", check.name, err)
		}
	}
	return c.db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Clear(key)
		return nil
	})
}

// wantCode returns an error unless err has the code.
func wantCode(what string, err error, code kv.Code) error {
	if kv.CodeOf(err) == code {
		return nil
	}
	return fmt.Errorf("%s: error %v, expected was %d", what, err, code)
}

func checkOptions(ctx context.Context, _ kv.Database, tx kv.Transaction, key []byte) error {
	var errs []error
	for _, o := range []struct {
		option kv.Option
		arg    int64
	}{
		{kv.OptionPrioritySystemImmediate, 0},
		{kv.OptionPriorityBatch, 0},
		{kv.OptionCausalReadRisky, 0},
		{kv.OptionCausalWriteRisky, 0},
		{kv.OptionReadYourWritesDisable, 0},
		{kv.OptionReadSystemKeys, 0},
		{kv.OptionAccessSystemKeys, 0},
		{kv.OptionTimeout, 60_000},
		{kv.OptionRetryLimit, 50},
		{kv.OptionMaxRetryDelay, 100},
		{kv.OptionSizeLimit, 100_000},
		{kv.OptionUsedDuringCommitProtectionDisable, 0},
		{kv.OptionReadLockAware, 0},
		{kv.OptionLockAware, 0},
	} {
		if err := tx.SetOption(o.option, o.arg); err != nil {
			errs = append(errs, fmt.Errorf("option %d: %w", o.option, err))
		}
	}
	_, err := tx.Get(append([]byte{0xff}, key...)).Get(ctx)
	return errors.Join(append(errs, err)...)
}

func checkCancellation(ctx context.Context, _ kv.Database, tx kv.Transaction, key []byte) error {
	tx.Set(key, nil)
	tx.Cancel()
	_, err := tx.Get(key).Get(ctx)
	if err := wantCode("a read after Cancel", err, kv.CodeTransactionCancelled); err != nil {
		return err
	}
	if err := wantCode("a commit after Cancel", tx.Commit(ctx), kv.CodeTransactionCancelled); err != nil {
		return err
	}
	tx.Reset()
	if _, err := tx.Get(key).Get(ctx); err != nil {
		return fmt.Errorf("a read after Cancel and Reset: %w", err)
	}
	return nil
}

func checkRetryLimit(ctx context.Context, _ kv.Database, tx kv.Transaction, _ []byte) error {
	const limit = 2
	if err := tx.SetOption(kv.OptionRetryLimit, limit); err != nil {
		return err
	}
	conflict := kv.NewError(kv.CodeNotCommitted, "made up by a check")
	for n := range limit {
		if err := tx.OnError(ctx, conflict); err != nil {
			return fmt.Errorf("retry %d of %d: %w", n+1, limit, err)
		}
	}
	return wantCode("one retry too many", tx.OnError(ctx, conflict), kv.CodeNotCommitted)
}

func checkTimeout(ctx context.Context, _ kv.Database, tx kv.Transaction, key []byte) error {
	if err := tx.SetOption(kv.OptionTimeout, 1); err != nil {
		return err
	}
	for {
		if _, err := tx.Get(key).Get(ctx); err != nil {
			return wantCode("reading on and on", err, kv.CodeTransactionTimedOut)
		}
	}
}

func checkSizeLimit(ctx context.Context, _ kv.Database, tx kv.Transaction, key []byte) error {
	const limit = 1000
	if err := tx.SetOption(kv.OptionSizeLimit, limit); err != nil {
		return err
	}
	tx.Set(key, make([]byte, limit))
	return wantCode("a commit of more", tx.Commit(ctx), kv.CodeTransactionTooLarge)
}

func checkApproximateSize(ctx context.Context, _ kv.Database, tx kv.Transaction, key []byte) error {
	before, err := tx.GetApproximateSize().Get(ctx)
	if err != nil {
		return err
	}
	tx.Set(key, make([]byte, 100))
	after, err := tx.GetApproximateSize().Get(ctx)
	if err == nil && after < before+100+int64(len(key)) {
		return fmt.Errorf("%d and %d bytes, before and after 100 were set", before, after)
	}
	return err
}

func checkWatches(ctx context.Context, db kv.Database, tx kv.Transaction, key []byte) error {
	set := func(value string) error {
		return db.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set(key, []byte(value))
			return nil
		})
	}
	if err := set("before"); err != nil {
		return err
	}
	watch := tx.Watch(key)
	defer watch.Cancel()
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if watch.Ready() {
		_, err := watch.Get(ctx)
		return fmt.Errorf("a watch is ready before there is a change: %v", err)
	}
	if err := set("after"); err != nil {
		return err
	}
	_, err := watch.Get(ctx)
	return err
}
