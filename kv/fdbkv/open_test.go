// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func TestOpenFaults(t *testing.T) {
	if _, err := fdbkv.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no cluster file: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	var e *kv.Error
	if _, err := fdbkv.Open(broken); !errors.As(err, &e) || !strings.Contains(err.Error(), broken) {
		t.Errorf("a broken cluster file: %v, want an error with a code and the file's name", err)
	}
}

// TestAdvanceBounds: versions beyond what a cluster can recover with are refused before anything is written.
func TestAdvanceBounds(t *testing.T) {
	db, _ := openOwn(t, fdbkv.Options{})
	for _, above := range []int64{-1, math.MaxInt64/2 + 1, math.MaxInt64} {
		if err := db.AdvanceVersion(t.Context(), above); err == nil || !strings.Contains(err.Error(), "must be 0 to") {
			t.Errorf("advancing to %d: %v", above, err)
		}
	}
	if err := db.AdvanceVersion(t.Context(), 0); err != nil {
		t.Errorf("advancing to what has passed: %v", err)
	}
}

// The process has one network: a later Open cannot give other network options.
func TestNetworkIsStartedOnce(t *testing.T) {
	_, _ = openOwn(t, fdbkv.Options{})
	_, err := fdbkv.Open(os.Getenv("FDB_CLUSTER_FILE"), fdbkv.Options{Network: fdbkv.Network{Trace: fdbkv.Trace{Dir: t.TempDir()}}})
	if !errors.Is(err, fdbkv.ErrNetwork) || !strings.Contains(err.Error(), "([Trace.Dir])") {
		t.Errorf("other network options: %v, want an ErrNetwork about Trace.Dir", err)
	}
	_, _ = openOwn(t, fdbkv.Options{})
}

// Closing one database leaves the others of the same cluster alone.
func TestDatabasesOfOneClusterAreApart(t *testing.T) {
	a, prefix := openOwn(t, fdbkv.Options{})
	b, _ := openOwn(t, fdbkv.Options{})
	put(t, a, prefix+"a", "1")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, b, prefix); n != 1 {
		t.Errorf("%d keys, want 1", n)
	}
}

// A program opens databases of the binding while this package opens and closes its own.
// The binding keeps its databases in a map, which only one goroutine may use.
func TestOpenNextToTheBindings(t *testing.T) {
	openOwn(t, fdbkv.Options{}) // selects the API version
	file := os.Getenv("FDB_CLUSTER_FILE")
	var binding sync.WaitGroup
	binding.Go(func() {
		for range 20 {
			theirs, err := fdb.OpenDatabase(file)
			if err != nil {
				t.Error(err)
				return
			}
			theirs.Close()
		}
	})
	for range 20 {
		db, err := fdbkv.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	binding.Wait()
}

func TestDefaultsOfTransactions(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{
		Transactions:         kv.TransactionOptions{Timeout: time.Minute, RetryLimit: 1, MaxRetryDelay: 5 * time.Millisecond, SizeLimit: 1000},
		AutomaticIdempotency: true, CausalReadRisky: true, MaxWatches: 10, LocationCacheSize: 1000, MachineID: "m", DatacenterID: "d",
	})
	put(t, db, prefix+"a", "1")
	conflict := kv.NewError(kv.CodeNotCommitted, "made up")
	runs := 0
	err := db.Transact(t.Context(), func(kv.Transaction) error { runs++; return conflict })
	if !errors.Is(err, conflict) || runs != 2 {
		t.Errorf("a retry limit of 1: %d runs, %v", runs, err)
	}
	err = db.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set([]byte(prefix+"b"), make([]byte, 1000))
		return nil
	})
	if kv.CodeOf(err) != kv.CodeTransactionTooLarge {
		t.Errorf("a size limit of 1000: %v", err)
	}
}

func TestDefaultTimeout(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{Transactions: kv.TransactionOptions{Timeout: 10 * time.Millisecond}})
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		for {
			if _, err := tx.Get([]byte(prefix)).Get(t.Context()); err != nil {
				return err
			}
		}
	})
	if kv.CodeOf(err) != kv.CodeTransactionTimedOut {
		t.Errorf("Transact: %v, want code 1031", err)
	}
}

// An error is one of package kv and one of the binding, and says where it was met.
func TestErrorsKeepTheirCodes(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{})
	tx := begin(t, db)
	tx.Set([]byte(prefix), make([]byte, kv.MaxValueSize+1))
	err := tx.Commit(t.Context())
	var theirs fdb.Error
	if kv.CodeOf(err) != kv.CodeValueTooLarge || !errors.As(err, &theirs) || theirs.Code != 2103 {
		t.Errorf("Commit: %v, want 2103 in both forms", err)
	}
	if !strings.Contains(err.Error(), "commit") {
		t.Errorf("the error does not say where: %v", err)
	}
	err = begin(t, db).SetOption(kv.Option(9999), 0)
	if kv.CodeOf(err) != kv.CodeInvalidOption || !strings.Contains(err.Error(), "9999") {
		t.Errorf("SetOption: %v, want 2007 and the option", err)
	}
}
