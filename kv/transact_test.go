// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
