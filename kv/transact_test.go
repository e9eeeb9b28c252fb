// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// scriptedDB runs a function over a scripted transaction.
type scriptedDB struct{ tx *scriptedTx }

func (s scriptedDB) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return kv.Retry(ctx, s.tx, func(kv.Attempt) error { return fn(s.tx) })
}

func (s scriptedDB) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return kv.RetryRead(ctx, s.tx, func() error { return fn(s.tx) })
}

func TestTransactReturnsTheLastRunsValue(t *testing.T) {
	db := scriptedDB{&scriptedTx{commits: []error{coded(1020), coded(1021)}}}
	runs := 0
	got, err := kv.Transact(t.Context(), db, func(kv.Transaction) (int, error) {
		runs++
		return runs, nil
	})
	if got != 3 || err != nil {
		t.Errorf("Transact = %d, %v, want 3", got, err)
	}
}

func TestTransactReturnsNoValueWithAnError(t *testing.T) {
	own := errors.New("own error")
	db := scriptedDB{&scriptedTx{commits: []error{coded(2101)}}}
	if got, err := kv.Transact(t.Context(), db, func(kv.Transaction) (int, error) { return 7, nil }); got != 0 || kv.CodeOf(err) != 2101 {
		t.Errorf("Transact = %d, %v, want 0 and 2101", got, err)
	}
	if got, err := kv.ReadTransact(t.Context(), db, func(kv.ReadTransaction) (int, error) { return 7, own }); got != 0 || !errors.Is(err, own) {
		t.Errorf("ReadTransact = %d, %v, want 0 and %v", got, err, own)
	}
}

func TestReadTransactReturnsTheValue(t *testing.T) {
	db := scriptedDB{&scriptedTx{}}
	got, err := kv.ReadTransact(t.Context(), db, func(kv.ReadTransaction) (string, error) { return "seven", nil })
	if got != "seven" || err != nil {
		t.Errorf("ReadTransact = %q, %v", got, err)
	}
}

func TestInt64IsLittleEndian(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0000000000000000", 1: "0100000000000000", -1: "ffffffffffffffff", 0x0102: "0201000000000000",
	} {
		if got := fmt.Sprintf("%x", kv.Int64(n)); got != want {
			t.Errorf("Int64(%d) = %s, want %s", n, got, want)
		}
	}
}

func ExampleInt64() {
	fmt.Println(kv.Int64(258))
	// Output: [2 1 0 0 0 0 0 0]
}

// TestRetryGivesUpSlowFunctions runs functions that take longer than a
// transaction may last: they end, and the error says why.
func TestRetryGivesUpSlowFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		slow := func() error {
			runs++
			time.Sleep(kv.MaxTransactionAge + time.Second)
			return coded(kv.CodeTransactionTooOld)
		}
		for name, run := range map[string]func() error{
			"Retry":     func() error { return kv.Retry(t.Context(), &scriptedTx{}, func(kv.Attempt) error { return slow() }) },
			"RetryRead": func() error { return kv.RetryRead(t.Context(), &scriptedTx{}, slow) },
		} {
			runs = 0
			err := run()
			var givenUp *kv.RetryError
			if !errors.As(err, &givenUp) || givenUp.Code != kv.CodeTransactionTooOld || givenUp.Attempts != 3 || runs != 3 {
				t.Errorf("%s = %v after %d runs, want a *RetryError after 3", name, err, runs)
				continue
			}
			if !strings.Contains(err.Error(), "1007, transaction_too_old") || !strings.Contains(err.Error(), "do less in one transaction") {
				t.Errorf("%s: the error does not say what to do: %v", name, err)
			}
			if kv.IsRetryable(err) || kv.CodeOf(err) != 0 {
				t.Errorf("%s: a loop around would retry %v", name, err)
			}
		}
	})
}

// TestRetryKeepsFastFunctions lets a function fail with 1007 many times without
// having taken long, and one that goes on where it stopped take long.
func TestRetryKeepsFastFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			takes time.Duration
			err   error
		}{
			"fast":      {time.Second, coded(kv.CodeTransactionTooOld)},
			"goes on":   {time.Minute, kv.MarkProgress(coded(kv.CodeTransactionTooOld))},
			"otherwise": {time.Minute, coded(kv.CodeProcessBehind)},
		} {
			runs := 0
			err := kv.RetryRead(t.Context(), &scriptedTx{}, func() error {
				if runs++; runs == 50 {
					return nil
				}
				time.Sleep(test.takes)
				return test.err
			})
			if err != nil {
				t.Errorf("%s: %v after %d runs", name, err, runs)
			}
		}
	})
}

// TestRetryGivesUpConflicts lets every commit conflict.
func TestRetryGivesUpConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tx, runs := &scriptedTx{}, 0
		err := kv.Retry(t.Context(), tx, func(kv.Attempt) error {
			if runs++; runs == 1 {
				return coded(kv.CodeCommitUnknownResult)
			}
			return coded(kv.CodeNotCommitted)
		})
		var givenUp *kv.RetryError
		if !errors.As(err, &givenUp) || givenUp.Code != kv.CodeNotCommitted || givenUp.Attempts != 1000 || runs != 1001 {
			t.Fatalf("Retry = %v after %d runs, want a *RetryError after 1001", err, runs)
		}
		if !errors.Is(err, kv.ErrOutcomeUnknown) || tx.cancelled.Load() == 0 {
			t.Errorf("%v does not say that the first attempt may have committed, or the transaction was not cancelled", err)
		}
	})
}

// TestEndedContextRunsNothing begins with a context that has ended.
func TestEndedContextRunsNothing(t *testing.T) {
	cause := errors.New("server is shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	tx := &scriptedTx{}
	run := func() error { t.Error("the function was run"); return nil }
	if err := kv.Retry(ctx, tx, func(kv.Attempt) error { return run() }); !errors.Is(err, cause) {
		t.Errorf("Retry = %v, want %v", err, cause)
	}
	if err := kv.RetryRead(ctx, tx, run); !errors.Is(err, cause) {
		t.Errorf("RetryRead = %v, want %v", err, cause)
	}
	if tx.cancelled.Load() < 2 {
		t.Error("a transaction was not cancelled")
	}
}

// TestEndedContextNamesEarlierErrors ends the context in a later attempt: the
// error tells why there was an earlier one, and that it may have committed. A read may
// say that the transaction was cancelled before the function sees the end.
func TestEndedContextNamesEarlierErrors(t *testing.T) {
	for _, first := range []kv.Code{kv.CodeTransactionTooOld, kv.CodeCommitUnknownResult} {
		for _, last := range []error{context.Canceled, coded(kv.CodeTransactionCancelled)} {
			ctx, cancel := context.WithCancel(t.Context())
			err := kv.Retry(ctx, &scriptedTx{}, func(a kv.Attempt) error {
				if a.Number == 1 {
					return coded(first)
				}
				cancel()
				return last
			})
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), kv.NewError(first, "scripted").Error()) {
				t.Errorf("Retry = %v, want the context's end and %d", err, first)
			}
			if errors.Is(err, kv.ErrOutcomeUnknown) != (first == kv.CodeCommitUnknownResult) {
				t.Errorf("after %d and %v: %v", first, last, err)
			}
		}
	}
}

// TestRefusedRetryNamesUnknownOutcome lets OnError refuse another attempt, because
// of a limit or a timeout, after one that may have committed: the error says so.
func TestRefusedRetryNamesUnknownOutcome(t *testing.T) {
	for name, refuse := range map[string]error{
		"retry limit": coded(kv.CodeNotCommitted),
		"timeout":     coded(kv.CodeTransactionTimedOut),
		"no retry":    coded(kv.CodeTransactionTooLarge),
		"lost again":  coded(kv.CodeCommitUnknownResult),
	} {
		for _, first := range []kv.Code{kv.CodeCommitUnknownResult, kv.CodeNotCommitted} {
			tx := &scriptedTx{}
			err := kv.Retry(t.Context(), tx, func(a kv.Attempt) error {
				if a.Number == 1 {
					return coded(first)
				}
				tx.refuse = refuse
				if name == "no retry" || name == "lost again" {
					return refuse
				}
				return coded(kv.CodeNotCommitted)
			})
			if err == nil || errors.Is(err, kv.ErrOutcomeUnknown) != (first == kv.CodeCommitUnknownResult || name == "lost again") {
				t.Errorf("%s after %d: %v", name, first, err)
			}
			if kv.CodeOf(err) != kv.CodeOf(refuse) {
				t.Errorf("%s after %d: the code is %d, want %d", name, first, kv.CodeOf(err), kv.CodeOf(refuse))
			}
		}
	}
}

// TestOwnErrorsNameUnknownOutcome has a function fail with an error of its own after
// an attempt that may have committed: what the function refuses may be what that
// attempt has done.
func TestOwnErrorsNameUnknownOutcome(t *testing.T) {
	own := errors.New("the lease is lost")
	for first, unknown := range map[kv.Code]bool{
		kv.CodeCommitUnknownResult: true, kv.CodeNotCommitted: false, kv.CodeTransactionTooOld: false,
	} {
		tx := &scriptedTx{commits: []error{coded(first)}}
		err := kv.Retry(t.Context(), tx, func(a kv.Attempt) error {
			if a.Number == 1 {
				return nil
			}
			return own
		})
		if !errors.Is(err, own) || errors.Is(err, kv.ErrOutcomeUnknown) != unknown {
			t.Errorf("after %d: %v, unknown %t, want the function's error, unknown %t", first, err, !unknown, unknown)
		}
	}
}
