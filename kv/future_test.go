// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

func TestResolvedFuture(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	fault := errors.New("fault")
	for _, tt := range []struct {
		name   string
		future kv.Future[int]
		want   int
		err    error
	}{
		{"zero", kv.Future[int]{}, 0, nil},
		{"value", kv.Resolved(7, nil), 7, nil},
		{"error", kv.Resolved(0, fault), 0, fault},
	} {
		tt.future.Cancel() // changes nothing: the result is known
		got, err := tt.future.Get(ended)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: Get = %d, %v, want %d, %v", tt.name, got, err, tt.want, tt.err)
		}
		if !tt.future.Ready() {
			t.Errorf("%s: not ready", tt.name)
		}
		select {
		case <-tt.future.Done():
		default:
			t.Errorf("%s: Done is not closed", tt.name)
		}
	}
}

func TestPromise(t *testing.T) {
	p := kv.NewPromise[int]()
	f := p.Future()
	if f.Ready() {
		t.Fatal("ready before it was resolved")
	}
	p.Resolve(7, nil)
	p.Resolve(8, errors.New("too late"))
	f.Cancel()
	if got, err := f.Get(t.Context()); got != 7 || err != nil {
		t.Errorf("Get = %d, %v, want the first result 7", got, err)
	}
	if !f.Ready() {
		t.Error("not ready after it was resolved")
	}
}

func TestCancelledFuture(t *testing.T) {
	f := kv.NewPromise[int]().Future()
	f.Cancel()
	if _, err := f.Get(t.Context()); kv.CodeOf(err) != kv.CodeOperationCancelled {
		t.Errorf("Get = %v, want code %d", err, kv.CodeOperationCancelled)
	}
}

func TestGetEndsWithItsContextAndCanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := kv.NewPromise[int]()
		cause := errors.New("out of patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		if _, err := p.Future().Get(ctx); !errors.Is(err, cause) {
			t.Errorf("Get = %v, want %v", err, cause)
		}
		p.Resolve(7, nil)
		if got, err := p.Future().Get(ctx); got != 7 || err != nil {
			t.Errorf("Get of a known result with an ended context = %d, %v, want 7", got, err)
		}
	})
}

func TestGetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := kv.NewPromise[string]()
		start := time.Now()
		time.AfterFunc(time.Minute, func() { p.Resolve("late", nil) })
		if got, err := p.Future().Get(t.Context()); got != "late" || err != nil {
			t.Errorf("Get = %q, %v", got, err)
		}
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("waited %v, want a minute", waited)
		}
	})
}

func TestPromiseResolvedByMany(t *testing.T) {
	p := kv.NewPromise[int]()
	results := make(chan int, 16)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() { p.Resolve(i, nil) })
		group.Go(func() {
			got, _ := p.Future().Get(t.Context())
			results <- got
		})
	}
	group.Wait()
	first := <-results
	for range 15 {
		if got := <-results; got != first {
			t.Fatalf("two readers got %d and %d", first, got)
		}
	}
}

// polledResult tells whether it is ready, and panics if a goroutine waits for it.
type polledResult struct {
	kv.PendingResult[int]
	ready bool
}

func (p polledResult) Ready() bool { return p.ready }

func TestReadyDoesNotWait(t *testing.T) {
	for _, ready := range []bool{false, true} {
		if f := kv.NewFuture[int](polledResult{ready: ready}); f.Ready() != ready {
			t.Errorf("Ready = %t, want %t", !ready, ready)
		}
	}
}

func ExampleFuture() {
	ctx := context.Background()
	promise := kv.NewPromise[string]()
	future := promise.Future()
	fmt.Println(future.Ready())
	promise.Resolve("value", nil)
	value, err := future.Get(ctx)
	fmt.Println(value, err)
	// Output:
	// false
	// value <nil>
}

// TestFutureSaysHowLongItWaited: an error of a context's end says that the database has not
// answered, and for how long. A watch waits for a change, not for the database.
func TestFutureSaysHowLongItWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, read := kv.NewPromise[[]byte]().Future().Get(ctx)
		_, watch := kv.NewPromise[struct{}]().Future().Get(ctx)
		commit := kv.AwaitCommit(ctx, kv.NewPromise[struct{}]().Future())
		if !errors.Is(read, context.DeadlineExceeded) || !strings.Contains(read.Error(), "has not answered for 3s") {
			t.Errorf("a read: %v", read)
		}
		if !errors.Is(watch, context.DeadlineExceeded) || watch.Error() != context.DeadlineExceeded.Error() {
			t.Errorf("a watch: %v", watch)
		}
		if !errors.Is(commit, kv.ErrOutcomeUnknown) || !errors.Is(commit, context.DeadlineExceeded) || !strings.Contains(commit.Error(), "has not answered for 0s") {
			t.Errorf("a commit: %v", commit)
		}
	})
}

// drivenRead is a result for which Drive waits, as that of a tracer.
type drivenRead struct{ *kv.Promise[[]byte] }

func (drivenRead) Drive(ctx context.Context) { <-ctx.Done() }

// TestDrivenFutureSaysHowLongItWaited: the wait in Drive counts.
func TestDrivenFutureSaysHowLongItWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := kv.NewFuture(drivenRead{kv.NewPromise[[]byte]()}).Get(ctx)
		if !strings.Contains(err.Error(), "has not answered for 3s") || !strings.Contains(err.Error(), "fdbcli") {
			t.Error(err)
		}
	})
}

// cancelledRead is the result of a read of a transaction that the end of a context has just
// cancelled.
type cancelledRead struct {
	*kv.Promise[[]byte]
	end context.CancelFunc
}

func (c cancelledRead) Result() ([]byte, error) {
	c.end()
	return nil, coded(kv.CodeTransactionCancelled)
}

// TestFutureOfACancelledTransaction: the end of a context may cancel the transaction before
// the waiting goroutine sees the end. The error is the same.
func TestFutureOfACancelledTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		read := cancelledRead{kv.NewPromise[[]byte](), cancel}
		time.AfterFunc(time.Second, func() { read.Resolve(nil, nil) })
		_, err := kv.NewFuture(read).Get(ctx)
		if !errors.Is(err, context.Canceled) || kv.CodeOf(err) != 0 || !strings.Contains(err.Error(), "has not answered for 1s") {
			t.Errorf("%v, want the context's end", err)
		}
	})
}
