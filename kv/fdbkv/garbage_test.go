// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// Transactions that were begun and forgotten leave nothing behind.
func TestGarbageIsReleased(t *testing.T) {
	file := os.Getenv("FDB_CLUSTER_FILE")
	if file == "" {
		t.Fatal("this test needs a FoundationDB cluster: set FDB_CLUSTER_FILE to its cluster file")
	}
	db, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 500 {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		tx.Get([]byte("a"))
		tx.Reset()
		tx.GetReadVersion()
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		runtime.GC()
		db.mu.Lock()
		left := len(db.open)
		db.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of 500 attempts are still known", left)
		}
		runtime.Gosched()
	}
}
