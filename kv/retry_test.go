// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
)

// scriptedTx answers commits and OnError from a script. Everything else of the
// interface would panic.
type scriptedTx struct {
	kv.Transaction
	commits   []error // of the commits in turn; nil at the end
	backoff   time.Duration
	refuse    error // what OnError returns
	onErrors  []kv.Code
	committed int
	cancelled atomic.Int32
	released  int
}

func (s *scriptedTx) Commit(context.Context) error {
	s.committed++
	if len(s.commits) == 0 {
		return nil
	}
	err := s.commits[0]
	s.commits = s.commits[1:]
	return err
}

func (s *scriptedTx) OnError(ctx context.Context, err error) error {
	s.onErrors = append(s.onErrors, kv.CodeOf(err))
	if s.refuse != nil {
		return s.refuse
	}
	if !kv.IsRetryable(err) {
		return err
	}
	select {
	case <-time.After(s.backoff):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *scriptedTx) Cancel() { s.cancelled.Add(1) }

func (s *scriptedTx) Release() { s.released++ }

func coded(code kv.Code) error { return fmt.Errorf("wrapped: %w", kv.NewError(code, "scripted")) }

func TestRetry(t *testing.T) {
	own := errors.New("own error")
	for _, tt := range []struct {
		name     string
		fns      []error // results of the function's runs
		commits  []error
		attempts []kv.Attempt
		want     error
	}{
		{
			name:     "commits at once",
			fns:      []error{nil},
			attempts: []kv.Attempt{{Number: 1}},
		},
		{
			name:     "conflict, then commits",
			fns:      []error{nil, nil},
			commits:  []error{coded(1020)},
			attempts: []kv.Attempt{{Number: 1}, {Number: 2, Conflicts: 1}},
		},
		{
			name:     "the function's own retryable error",
			fns:      []error{coded(1007), nil},
			attempts: []kv.Attempt{{Number: 1}, {Number: 2}},
		},
		{
			name:     "a lost acknowledgement is remembered through later errors",
			fns:      []error{nil, nil, coded(1007), nil},
			commits:  []error{coded(1021), coded(1020)},
			attempts: []kv.Attempt{{Number: 1}, {Number: 2, MaybeCommitted: true}, {Number: 3, Conflicts: 1, MaybeCommitted: true}, {Number: 4, MaybeCommitted: true}},
		},
		{
			name:     "a foreign error ends it without a commit",
			fns:      []error{own},
			attempts: []kv.Attempt{{Number: 1}},
			want:     own,
		},
		{
			name:     "an error that cannot be retried ends it",
			fns:      []error{nil},
			commits:  []error{coded(2101)},
			attempts: []kv.Attempt{{Number: 1}},
			want:     &kv.Error{Code: 2101},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tx := &scriptedTx{commits: tt.commits}
			var attempts []kv.Attempt
			err := kv.Retry(t.Context(), tx, func(a kv.Attempt) error {
				attempts = append(attempts, a)
				return tt.fns[len(attempts)-1]
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("Retry = %v, want %v", err, tt.want)
			}
			if diff := cmp.Diff(tt.attempts, attempts); diff != "" {
				t.Errorf("attempts mismatch (-want +got):\n%s", diff)
			}
			if failed := err != nil; (tx.cancelled.Load() > 0) != failed {
				t.Errorf("cancelled %d times after %v", tx.cancelled.Load(), err)
			}
		})
	}
}

func TestRetryReportsWhyOnErrorRefused(t *testing.T) {
	tx := &scriptedTx{commits: []error{coded(1020)}, refuse: kv.NewError(kv.CodeTransactionTimedOut, "")}
	err := kv.Retry(t.Context(), tx, func(kv.Attempt) error { return nil })
	if kv.CodeOf(err) != kv.CodeTransactionTimedOut || !errors.Is(err, &kv.Error{Code: 1020}) {
		t.Errorf("Retry = %v, want 1031 and the 1020 below it", err)
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	cause := errors.New("server is shutting down")
	t.Run("in the back-off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
			defer cancel()
			tx := &scriptedTx{backoff: time.Hour, commits: []error{coded(1020)}}
			err := kv.Retry(ctx, tx, func(kv.Attempt) error { return nil })
			if !errors.Is(err, cause) || !kv.IsConflict(err) || errors.Is(err, kv.ErrOutcomeUnknown) {
				t.Errorf("Retry = %v, want the context's end and the last error", err)
			}
			if tx.cancelled.Load() == 0 {
				t.Error("the transaction was not cancelled")
			}
		})
	})
	t.Run("in the function", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		tx := &scriptedTx{}
		err := kv.Retry(ctx, tx, func(kv.Attempt) error {
			cancel(cause)
			return nil
		})
		if !errors.Is(err, cause) || errors.Is(err, kv.ErrOutcomeUnknown) {
			t.Errorf("Retry = %v, want %v: nothing was committed for certain", err, cause)
		}
		if tx.committed > 0 {
			t.Error("it committed although the context had ended")
		}
	})
}

func TestRetryBindsTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tx := &scriptedTx{}
		if err := kv.Retry(ctx, tx, func(kv.Attempt) error { return nil }); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if tx.cancelled.Load() != 0 {
			t.Error("a context that ended later cancelled the finished transaction")
		}
	})
}

// slowlyCancelledTx is a transaction with a context that ends during its commit, which succeeds
// all the same while Cancel is under way.
type slowlyCancelledTx struct {
	scriptedTx
	end       context.CancelFunc
	cancels   chan struct{}
	cancelled bool
}

func (s *slowlyCancelledTx) Commit(context.Context) error {
	s.end()
	<-s.cancels
	return nil
}

func (s *slowlyCancelledTx) Cancel() {
	close(s.cancels)
	time.Sleep(time.Second)
	s.cancelled = true
}

// A loop that has returned does not cancel its transaction any more: the caller may have
// reset it by then, to use it again.
func TestRetryCancelsBeforeItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		tx := &slowlyCancelledTx{end: end, cancels: make(chan struct{})}
		err := kv.Retry(ctx, tx, func(kv.Attempt) error { return nil })
		if err != nil || !tx.cancelled {
			t.Errorf("Retry = %v; cancelled when it returned: %t", err, tx.cancelled)
		}
	})
}

// However a loop ends, it releases its transaction once, after it has cancelled it.
func TestRetryReleases(t *testing.T) {
	own := errors.New("own error")
	for name, fn := range map[string]func() error{
		"success": func() error { return nil },
		"failure": func() error { return own },
		"panic":   func() error { panic(own) },
	} {
		for kind, loop := range map[string]func(kv.Transaction) error{
			"Retry": func(tx kv.Transaction) error {
				return kv.Retry(t.Context(), tx, func(kv.Attempt) error { return fn() })
			},
			"RetryRead": func(tx kv.Transaction) error { return kv.RetryRead(t.Context(), tx, fn) },
		} {
			tx := &scriptedTx{}
			func() {
				defer func() { _ = recover() }()
				_ = loop(tx)
			}()
			if tx.released != 1 {
				t.Errorf("%s, %s: released %d times", kind, name, tx.released)
			}
			if name != "success" && tx.cancelled.Load() == 0 {
				t.Errorf("%s, %s: not cancelled", kind, name)
			}
		}
	}
}

func TestRetryRead(t *testing.T) {
	tx := &scriptedTx{}
	results := []error{coded(1007), coded(1009), nil}
	runs := 0
	err := kv.RetryRead(t.Context(), tx, func() error {
		runs++
		return results[runs-1]
	})
	if err != nil || runs != 3 || tx.committed != 0 || tx.cancelled.Load() != 1 {
		t.Errorf("RetryRead = %v after %d runs, %d commits, %d cancels, want 3 runs, no commit, 1 cancel", err, runs, tx.committed, tx.cancelled.Load())
	}
	if want := []kv.Code{1007, 1009}; !slices.Equal(tx.onErrors, want) {
		t.Errorf("OnError got %v, want %v", tx.onErrors, want)
	}
}

func TestRetryReadEndsWithAForeignError(t *testing.T) {
	own := errors.New("own error")
	tx := &scriptedTx{}
	if err := kv.RetryRead(t.Context(), tx, func() error { return own }); !errors.Is(err, own) {
		t.Errorf("RetryRead = %v, want %v", err, own)
	}
	if tx.cancelled.Load() == 0 {
		t.Error("the transaction was not cancelled")
	}
}

func TestAwaitCommit(t *testing.T) {
	cause := errors.New("out of patience")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	open := kv.NewPromise[struct{}]().Future()
	cancelled := kv.Resolved(struct{}{}, coded(kv.CodeTransactionCancelled))
	conflict := kv.Resolved(struct{}{}, coded(kv.CodeNotCommitted))
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		commit  kv.Future[struct{}]
		unknown bool
		want    error
	}{
		{"succeeded", t.Context(), kv.Resolved(struct{}{}, nil), false, nil},
		{"succeeded before the context ended", ended, kv.Resolved(struct{}{}, nil), false, nil},
		{"failed", t.Context(), conflict, false, &kv.Error{Code: 1020}},
		{"failed before the context ended", ended, conflict, false, &kv.Error{Code: 1020}},
		{"abandoned", ended, open, true, cause},
		{"abandoned, and cancelled by that", ended, cancelled, true, cause},
		{"cancelled by the program", t.Context(), cancelled, false, &kv.Error{Code: 1025}},
	} {
		err := kv.AwaitCommit(tt.ctx, tt.commit)
		if !errors.Is(err, tt.want) || errors.Is(err, kv.ErrOutcomeUnknown) != tt.unknown {
			t.Errorf("%s: %v, want %v, unknown %t", tt.name, err, tt.want, tt.unknown)
		}
	}
}

// TestRetryCancelsAfterPanic runs functions that do not return.
func TestRetryCancelsAfterPanic(t *testing.T) {
	for name, end := range map[string]func(){
		"a panic":                func() { panic("the function is wrong") },
		"the end of a goroutine": runtime.Goexit,
	} {
		for kind, run := range map[string]func(kv.Transaction){
			"a transaction": func(tx kv.Transaction) {
				_ = kv.Retry(t.Context(), tx, func(kv.Attempt) error { end(); return nil })
			},
			"a read": func(tx kv.Transaction) {
				_ = kv.RetryRead(t.Context(), tx, func() error { end(); return nil })
			},
		} {
			tx := &scriptedTx{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				run(tx)
			}()
			<-done
			if tx.cancelled.Load() == 0 || tx.committed > 0 {
				t.Errorf("%s in %s: cancelled %d times, committed %d times", name, kind, tx.cancelled.Load(), tx.committed)
			}
		}
	}
}
