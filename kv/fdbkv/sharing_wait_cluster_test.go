// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// runBeforeGroupStarts runs do in a function of ReadTransact in a group that has not started,
// because the version of the one before does not arrive.
func runBeforeGroupStarts(t *testing.T, ctx context.Context, do func(*fdbkv.Database, kv.ReadTransaction) error) error {
	t.Helper()
	alwaysShare(t)
	db := openUnreachable(t)
	return db.ReadTransact(t.Context(), func(first kv.ReadTransaction) error {
		first.Get([]byte("a"))
		//persistvet:ignore outsidetx the second transaction must wait for the group of the first
		return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error { return do(db, tx) })
	})
}

// A read that waits for its group ends as every other one does.
func TestReadsThatWaitForTheirGroupEnd(t *testing.T) {
	cause := errors.New("out of patience")
	reads := map[string]func(context.Context, kv.ReadTransaction) error{
		"Get": func(ctx context.Context, tx kv.ReadTransaction) error {
			_, err := tx.Get([]byte("a")).Get(ctx)
			return err
		},
		"metadata version": func(ctx context.Context, tx kv.ReadTransaction) error {
			_, err := tx.Snapshot().Get([]byte(kv.MetadataVersionKey)).Get(ctx)
			return err
		},
		"GetRange": func(ctx context.Context, tx kv.ReadTransaction) error {
			_, err := tx.GetRange(kv.PrefixRange([]byte("a")).Selectors(), kv.RangeOptions{}).Slice(ctx)
			return err
		},
		"SetOption": func(ctx context.Context, tx kv.ReadTransaction) error {
			tx.GetReadVersion() // joins the group, so that the option waits for its version
			return tx.(kv.Transaction).SetOption(kv.OptionReadSystemKeys, 0)
		},
	}
	for name, read := range reads {
		t.Run(name+"/context", func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
			defer cancel()
			err := runBeforeGroupStarts(t, ctx, func(_ *fdbkv.Database, tx kv.ReadTransaction) error { return read(ctx, tx) })
			if !errors.Is(err, cause) {
				t.Errorf("%v, want the context's cause", err)
			}
		})
		t.Run(name+"/cancelled by the context", func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
			defer cancel()
			err := runBeforeGroupStarts(t, ctx, func(_ *fdbkv.Database, tx kv.ReadTransaction) error { return read(t.Context(), tx) })
			if !errors.Is(err, cause) {
				t.Errorf("%v, want the context's cause", err)
			}
		})
		for end, do := range map[string]func(*fdbkv.Database, kv.Transaction){
			"Cancel": func(_ *fdbkv.Database, tx kv.Transaction) { tx.Cancel() },
			"Reset":  func(_ *fdbkv.Database, tx kv.Transaction) { tx.Reset() },
			"Close":  func(db *fdbkv.Database, _ kv.Transaction) { _ = db.Close() },
		} {
			t.Run(name+"/"+end, func(t *testing.T) {
				err := runBeforeGroupStarts(t, t.Context(), func(db *fdbkv.Database, tx kv.ReadTransaction) error {
					tx.GetReadVersion()
					ended := make(chan error)
					go func() { ended <- read(t.Context(), tx) }()
					runtime.Gosched()
					do(db, tx.(kv.Transaction))
					if end != "Close" {
						do(db, tx.(kv.Transaction)) // after it the read cannot begin to wait
						tx.(kv.Transaction).Cancel()
					}
					return <-ended
				})
				if code := kv.CodeOf(err); !errors.Is(err, kv.ErrClosed) && code != kv.CodeTransactionCancelled && err != nil {
					t.Errorf("%v, want that it was cancelled, or ErrClosed", err)
				}
			})
		}
	}
}

// A future that is cancelled before its group starts is known at once.
func TestCancelOfAReadThatWaitsForItsGroup(t *testing.T) {
	err := runBeforeGroupStarts(t, t.Context(), func(_ *fdbkv.Database, tx kv.ReadTransaction) error {
		for _, f := range []kv.Future[[]byte]{tx.Get([]byte("a")), tx.Snapshot().Get([]byte(kv.MetadataVersionKey))} {
			if f.Ready() {
				t.Error("a read that waits for its group is ready")
			}
			f.Cancel()
			if _, err := f.Get(t.Context()); kv.CodeOf(err) != kv.CodeOperationCancelled || !f.Ready() {
				t.Errorf("Get: %v, want %d", err, kv.CodeOperationCancelled)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// No goroutine waits for a group either.
func TestNoGoroutineWaitsForAGroup(t *testing.T) {
	err := runBeforeGroupStarts(t, t.Context(), func(_ *fdbkv.Database, tx kv.ReadTransaction) error {
		before := runtime.NumGoroutine()
		for range 1000 {
			tx.Get([]byte("a")).Done()
		}
		if now := runtime.NumGoroutine(); now > before+5 {
			t.Errorf("%d goroutines before 1000 reads, %d while they are waited for", before, now)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Results that no caller takes are freed while others of the group go on.
func TestAbandonedSharedReads(t *testing.T) {
	alwaysShare(t)
	collectGarbage(t)
	db, prefix := openOwn(t, fdbkv.Options{})
	put(t, db, prefix+"a", "1")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 100 {
				if err := abandonSome(t.Context(), db, []byte(prefix+"a"), i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func abandonSome(ctx context.Context, db kv.Database, key []byte, i int) error {
	var late kv.Future[[]byte]
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		for range 10 {
			f := tx.Get(key)
			if i%2 == 0 {
				f.Done() // the client will call back
			}
			if i%3 == 0 {
				f.Cancel()
			}
		}
		late = tx.Get(key) //persistvet:ignore txescape the test reads it after its transaction
		value, err := tx.Get(key).Get(ctx)
		if err == nil && string(value) != "1" {
			err = fmt.Errorf("Get = %q", value)
		}
		return err
	})
	if _, ended := late.Get(ctx); err == nil && ended != nil && kv.CodeOf(ended) != kv.CodeTransactionCancelled {
		err = ended
	}
	return err
}
