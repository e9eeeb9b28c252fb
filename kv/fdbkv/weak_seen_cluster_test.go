// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv_test

import (
	"testing"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func beginOn(t *testing.T, db kv.Database) kv.Transaction {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Release)
	return tx
}

func wantNil(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look reads in a transaction that is not weak.
func look[T any](t *testing.T, db kv.Database, read func(kv.ReadTransaction) (T, error)) {
	t.Helper()
	_, err := kv.ReadTransact(t.Context(), db, read)
	wantNil(t, err)
}

func watchA(t *testing.T, db kv.Database) kv.Future[struct{}] {
	t.Helper()
	changed, err := kv.Transact(t.Context(), db, func(tx kv.Transaction) (kv.Future[struct{}], error) { return tx.Watch([]byte("a")), nil })
	wantNil(t, err)
	return changed
}

// Whatever way the program learns of a commit, its own or another's, a weak read after that has it.
func TestWeakReadsHaveWhatIsKnown(t *testing.T) {
	for name, learn := range map[string]func(t *testing.T, db, other kv.Database){
		"a read": func(t *testing.T, db, other kv.Database) {
			write(t, other, "after")
			look(t, db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get([]byte("a")).Get(t.Context()) })
		},
		"a watch": func(t *testing.T, db, other kv.Database) {
			changed := watchA(t, db)
			write(t, other, "after")
			_, err := changed.Get(t.Context())
			wantNil(t, err)
		},
		"a watch, by Done": func(t *testing.T, db, other kv.Database) {
			changed := watchA(t, db)
			write(t, other, "after")
			<-changed.Done()
		},
		"a watch, and a commit of nothing": func(t *testing.T, db, other kv.Database) {
			changed := watchA(t, db)
			write(t, other, "after")
			_, err := changed.Get(t.Context())
			wantNil(t, err)
			wantNil(t, db.Transact(t.Context(), func(kv.Transaction) error { return nil }))
		},
		"the first key": func(t *testing.T, db, other kv.Database) {
			write(t, other, "after")
			look(t, db, func(tx kv.ReadTransaction) ([]byte, error) {
				return tx.GetKey(kv.FirstGreaterThan([]byte{})).Get(t.Context())
			})
		},
		"the last key": func(t *testing.T, db, other kv.Database) {
			write(t, other, "after")
			look(t, db, func(tx kv.ReadTransaction) ([]byte, error) {
				return tx.GetKey(kv.LastLessThan([]byte{0xff})).Get(t.Context())
			})
		},
		"a range by offsets": func(t *testing.T, db, other kv.Database) {
			write(t, other, "after")
			last := kv.SelectorRange{Begin: kv.KeySelector{Key: []byte("z"), Offset: 0}, End: kv.FirstGreaterOrEqual([]byte("z"))}
			look(t, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
				return tx.GetRange(last, kv.RangeOptions{}).Slice(t.Context())
			})
		},
		"a commit, after Reset": func(t *testing.T, db, _ kv.Database) {
			tx := beginOn(t, db)
			tx.Set([]byte("a"), []byte("after"))
			commit := tx.CommitAsync()
			<-commit.Done()
			tx.Reset()
			_, err := commit.Get(t.Context())
			wantNil(t, err)
		},
		"a versionstamp": func(t *testing.T, db, _ kv.Database) {
			tx := beginOn(t, db)
			tx.Set([]byte("a"), []byte("after"))
			stamp := tx.GetVersionstamp()
			tx.CommitAsync()
			_, err := stamp.Get(t.Context())
			wantNil(t, err)
		},
		"a committed version": func(t *testing.T, db, _ kv.Database) {
			tx := beginOn(t, db)
			tx.Set([]byte("a"), []byte("after"))
			<-tx.CommitAsync().Done()
			_, err := tx.GetCommittedVersion()
			wantNil(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, other, read := weakAfter(t)
			write(t, db, "before")
			learn(t, db, other)
			if got := read(kv.TransactionOptions{}); got != "after" {
				t.Errorf("a weak read: %q", got)
			}
		})
	}
}

// What a program has read before its first weak read is at no known version.
func TestFirstWeakRead(t *testing.T) {
	enginetest.Whole(t)
	db, other := enginetest.OpenCluster(t, fdbkv.Options{}), enginetest.OpenCluster(t, fdbkv.Options{})
	write(t, db, "before")
	write(t, other, "after")
	look(t, db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get([]byte("a")).Get(t.Context()) })
	if got := readWeakly(t, db, kv.TransactionOptions{}); got != "after" {
		t.Errorf("a weak read: %q", got)
	}
}

// Transactions that write nothing tell nothing of what others have committed.
func TestCommitsOfNothingRenewNoVersion(t *testing.T) {
	db, other, _ := weakAfter(t)
	short := kv.With(db, kv.TransactionOptions{MaxStaleness: 50 * time.Millisecond})
	write(t, db, "before")
	write(t, other, "after")
	for range 10 {
		time.Sleep(10 * time.Millisecond)
		_, err := kv.Transact(t.Context(), short, func(tx kv.Transaction) ([]byte, error) { return tx.Get([]byte("a")).Get(t.Context()) })
		wantNil(t, err)
	}
	if got := readWeakly(t, db, kv.TransactionOptions{}); got != "after" {
		t.Errorf("after twice the staleness: %q", got)
	}
}

func TestFirstCommitOfNothing(t *testing.T) {
	enginetest.Whole(t)
	db := enginetest.OpenCluster(t, fdbkv.Options{Transactions: kv.TransactionOptions{MaxStaleness: testStaleness}})
	wantNil(t, db.Transact(t.Context(), func(kv.Transaction) error { return nil }))
	look(t, db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get([]byte("a")).Get(t.Context()) })
}

// A transaction that the binding uses as well reads at the binding's version, which is not noted.
func TestWeakReadsAndTheBinding(t *testing.T) {
	db, other, read := weakAfter(t)
	tx := beginOn(t, kv.With(db, kv.TransactionOptions{MaxStaleness: testStaleness}))
	binding, _ := fdbkv.Unwrap(tx)
	_, err := binding.Get(fdb.Key("a")).Get()
	wantNil(t, err)
	_, err = tx.Get([]byte("a")).Get(t.Context())
	wantNil(t, err)

	old := write(t, db, "before")
	write(t, other, "after")
	tx = beginOn(t, db)
	binding, _ = fdbkv.Unwrap(tx)
	binding.SetReadVersion(old)
	_, err = tx.Get([]byte("a")).Get(t.Context())
	wantNil(t, err)
	if got := read(kv.TransactionOptions{}); got != "after" {
		t.Errorf("after a read at a version that the binding chose: %q", got)
	}

	binding, _ = fdbkv.Unwrap(beginOn(t, db))
	wrapped := fdbkv.Wrap(binding)
	wantNil(t, wrapped.SetOptions(kv.TransactionOptions{AtLeast: 1 << 60}))
	if _, err := wrapped.Get([]byte("a")).Get(t.Context()); kv.CodeOf(err) != kv.CodeVersionInvalid {
		t.Errorf("AtLeast of a wrapped transaction: %v", err)
	}
}

// A watch reads: options come too late after it.
func TestOptionsAfterAWatch(t *testing.T) {
	db, _, _ := weakAfter(t)
	tx := beginOn(t, db)
	defer tx.Watch([]byte("a")).Cancel()
	if err := tx.SetOptions(kv.TransactionOptions{AtLeast: 1}); kv.CodeOf(err) != kv.CodeClientInvalidOperation {
		t.Errorf("SetOptions: %v", err)
	}
}

// Calls return their futures, whatever the cluster does.
func TestAtLeastDoesNotWait(t *testing.T) {
	tx := beginOn(t, openUnreachable(t))
	wantNil(t, tx.SetOptions(kv.TransactionOptions{AtLeast: 1}))
	tx.Get([]byte("a"))
	tx.CommitAsync()
}
