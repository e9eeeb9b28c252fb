// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// The binding's loop runs a layer, which meets a conflict and is run again; what
// both wrote is committed once.
func TestWrapRunsLayersInTheBindingsTransaction(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{})
	mine, theirs := prefix+"layer", prefix+"binding"
	runs := 0
	_, err := db.Unwrap().Transact(func(tr fdb.Transaction) (any, error) {
		runs++
		tx := fdbkv.Wrap(tr)
		tr.Set(fdb.Key(theirs), []byte("1"))
		value, err := tx.Get([]byte(theirs)).Get(t.Context()) // sees what the binding wrote
		if err != nil || string(value) != "1" {
			t.Errorf("Get = %q, %v", value, err)
		}
		if _, err := tx.GetReadVersion().Get(t.Context()); err != nil {
			t.Error(err)
		}
		if runs == 1 {
			put(t, db, mine, "by another")
		}
		return nil, tx.Transact(t.Context(), func(tx kv.Transaction) error { return appendTo(t.Context(), tx, mine) })
	})
	if err != nil || runs != 2 {
		t.Errorf("%d runs, %v, want 2 and no error", runs, err)
	}
	if n := count(t, db, prefix); n != 2 {
		t.Errorf("%d keys, want 2", n)
	}
}

func appendTo(ctx context.Context, tx kv.Transaction, key string) error {
	value, err := tx.Get([]byte(key)).Get(ctx)
	if err != nil {
		return err
	}
	tx.Set([]byte(key), append(value, '!'))
	return nil
}

// Errors of reads through a wrapped transaction, and through a layer's %w, make
// the binding's loop try again; those that layers make themselves, by ForBinding.
func TestBindingRetriesErrorsOfLayers(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{})
	for name, fault := range map[string]func(kv.Transaction) error{
		"of a read": func(tx kv.Transaction) error {
			tx.SetReadVersion(1) // long ago
			_, err := tx.Get([]byte(prefix)).Get(t.Context())
			return fmt.Errorf("layer: %w", err)
		},
		"of a layer": func(kv.Transaction) error {
			return fdbkv.ForBinding(fmt.Errorf("layer: %w", kv.NewError(kv.CodeNotCommitted, "somebody was first")))
		},
	} {
		runs := 0
		_, err := db.Unwrap().Transact(func(tr fdb.Transaction) (any, error) {
			if runs++; runs == 1 {
				return nil, fault(fdbkv.Wrap(tr))
			}
			return nil, nil
		})
		if err != nil || runs != 2 {
			t.Errorf("%s: %d runs, %v, want 2 and no error", name, runs, err)
		}
	}
	own := errors.New("own")
	if err := fdbkv.ForBinding(own); err != own { //nolint:errorlint // unchanged
		t.Errorf("ForBinding: %v", err)
	}
}

func TestWrappedTransactionsBelongToTheirMakers(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{})
	tr, err := db.Unwrap().CreateTransaction()
	if err != nil {
		t.Fatal(err)
	}
	tx := fdbkv.Wrap(tr)
	tx.Set([]byte(prefix+"a"), nil)
	conflict := kv.NewError(kv.CodeNotCommitted, "made up")
	if err := tx.Commit(t.Context()); !errors.Is(err, fdbkv.ErrWrapped) {
		t.Errorf("Commit: %v, want ErrWrapped", err)
	}
	if err := tx.OnError(t.Context(), conflict); err != conflict { //nolint:errorlint // unchanged
		t.Errorf("OnError: %v, want what it was given", err)
	}
	tx.Reset()
	if err := tr.Commit().Get(); fdbCode(err) != 1025 || count(t, db, prefix) != 0 {
		t.Errorf("the maker's commit after a layer's Reset: %v, want 1025", err)
	}
}

func fdbCode(err error) int {
	var e fdb.Error
	errors.As(err, &e)
	return e.Code
}

// Our loop runs code that uses the binding.
func TestUnwrap(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{})
	runs := 0
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		tr, ok := fdbkv.Unwrap(tx)
		if !ok {
			t.Fatal("Unwrap refuses a transaction of this package")
		}
		tr.Set(fdb.Key(prefix+"a"), nil)
		if runs++; runs == 1 {
			return fmt.Errorf("wrapped: %w", fdb.Error{Code: 1020})
		}
		return nil
	})
	if err != nil || runs != 2 || count(t, db, prefix) != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
	if _, ok := fdbkv.Unwrap(struct{ kv.Transaction }{}); ok {
		t.Error("Unwrap takes a transaction of something else")
	}
}

// The binding's transaction may be kept longer than ours, which has ended: the binding
// frees it.
func TestUnwrappedTransactionsOutliveTheLoop(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{})
	collectGarbage(t)
	for range 50 {
		var kept fdb.Transaction
		err := db.Transact(t.Context(), func(tx kv.Transaction) error {
			kept, _ = fdbkv.Unwrap(tx) //persistvet:ignore txescape the test keeps it longer
			again, _ := fdbkv.Unwrap(tx)
			if again != kept {
				t.Error("another transaction of the binding for the same transaction")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		kept.Reset()
		kept.Set(fdb.Key(prefix+"a"), []byte("1"))
		if err := kept.Commit().Get(); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, db, prefix); n != 1 {
		t.Errorf("%d keys, want 1", n)
	}
}

// TestReadsHaveNoOutcome: the client ends reads with 1039 when the cluster's version changes. Only that of a
// commit leaves open whether it has committed.
func TestReadsHaveNoOutcome(t *testing.T) {
	for _, code := range []kv.Code{kv.CodeClusterVersionChanged, kv.CodeCommitUnknownResult} {
		if read := fdbkv.ReadError(code); kv.IsOutcomeUnknown(read) || kv.CodeOf(read) != code {
			t.Errorf("%v of a read has an unknown outcome", read)
		}
		if commit := fdbkv.CommitError(code); !kv.IsOutcomeUnknown(commit) {
			t.Errorf("%v of a commit has a known outcome", commit)
		}
	}
}
