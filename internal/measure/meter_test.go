// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// TestMeter: each call, and what it reads and writes, is counted once.
func TestMeter(t *testing.T) {
	db := enginetest.Open(t)
	var m measure.Meter
	counted := m.Database(db)
	ctx := t.Context()
	steps := []struct {
		name string
		run  func(tx kv.Transaction) error
		want measure.Usage
	}{
		{"writes", func(tx kv.Transaction) error {
			for i := range 4 {
				tx.Set([]byte{'a', byte(i)}, []byte("value"))
			}
			tx.Atomic(kv.Add, []byte("n"), []byte{1, 0})
			tx.Clear([]byte("c"))
			tx.ClearRange(kv.KeyRange{Begin: []byte("d"), End: []byte("e")})
			return nil
		}, measure.Usage{Counts: measure.Counts{Writes: 7, Begins: 1, Commits: 1}, BytesWritten: 4*7 + 3 + 1 + 2}},
		{"two gets in a round, one of an absent key", func(tx kv.Transaction) error {
			a, b := tx.Get([]byte{'a', 0}), tx.Get([]byte("absent"))
			for range 2 {
				if _, err := a.Get(ctx); err != nil {
					return err
				}
			}
			_, err := b.Get(ctx)
			return err
		}, measure.Usage{Counts: measure.Counts{Rounds: 1, Gets: 2, Begins: 1, Commits: 1}, Pairs: 1, BytesRead: 7}},
		{"many gets", func(tx kv.Transaction) error {
			for _, f := range kv.GetMany(tx, [][]byte{{'a', 0}, {'a', 1}, {'a', 9}}) {
				if _, err := f.Get(ctx); err != nil {
					return err
				}
			}
			return nil
		}, measure.Usage{Counts: measure.Counts{Rounds: 1, Gets: 3, Begins: 1, Commits: 1}, Pairs: 2, BytesRead: 14}},
		{"a range, and then a get with a result that is not asked for", func(tx kv.Transaction) error {
			r := kv.SelectorRange{Begin: kv.FirstGreaterOrEqual([]byte("a")), End: kv.FirstGreaterOrEqual([]byte("b"))}
			for _, err := range tx.GetRange(r, kv.RangeOptions{Mode: kv.ModeWantAll}).Batches(ctx) {
				if err != nil {
					return err
				}
			}
			tx.Snapshot().Get([]byte{'a', 0})
			return nil
		}, measure.Usage{Counts: measure.Counts{Rounds: 2, Gets: 1, Ranges: 1, Batches: 1, Begins: 1, Commits: 1}, Pairs: 4, BytesRead: 28}},
	}
	for _, step := range steps {
		before := m.Usage()
		if err := counted.Transact(ctx, step.run); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, m.Usage().Sub(before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func ExampleMeter() {
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer db.Close()
	var m measure.Meter
	err = m.Database(db).Transact(context.Background(), func(tx kv.Transaction) error {
		balance, err := tx.Get([]byte("account")).Get(context.Background())
		if err != nil {
			return err
		}
		tx.Set([]byte("account"), append(balance, '+'))
		return nil
	})
	fmt.Println(m.Usage().Counts, err)
	// Output: 1 rounds (1 gets, 0 ranges in 0 batches, 0 free), 1 writes, 1 commits, 0 retries <nil>
}

// slow is a database that waits before it answers.
type slow struct {
	kv.Database
	version, commit time.Duration
}

func (s slow) Begin() (kv.Transaction, error) {
	tx, err := s.Database.Begin()
	return slowTx{tx, s}, err
}

type slowTx struct {
	kv.Transaction
	of slow
}

func (t slowTx) GetReadVersion() kv.Future[int64] {
	return later(t.of.version, t.Transaction.GetReadVersion())
}

func (t slowTx) Get(key []byte) kv.Future[[]byte] {
	return later(t.of.version+100*time.Millisecond, t.Transaction.Get(key))
}

func (t slowTx) Commit(ctx context.Context) error {
	time.Sleep(t.of.commit)
	return t.Transaction.Commit(ctx)
}

// later returns a future that is known after a while.
func later[T any](d time.Duration, f kv.Future[T]) kv.Future[T] {
	p := kv.NewPromise[T]()
	time.AfterFunc(d, func() { p.Resolve(f.Get(context.Background())) })
	return p.Future()
}

// TestWaits: the waits for read version and commit are measured apart from those for reads, in each attempt.
func TestWaits(t *testing.T) {
	for name, key := range map[string]string{"a key": "k", "a key that comes with the version": kv.MetadataVersionKey} {
		synctest.Test(t, func(t *testing.T) {
			var m measure.Meter
			db := m.Database(slow{enginetest.InProcess(t), 200 * time.Millisecond, 300 * time.Millisecond})
			attempts := 0
			err := db.Transact(t.Context(), func(tx kv.Transaction) error {
				for range 2 {
					if _, err := tx.Get([]byte(key)).Get(t.Context()); err != nil {
						return err
					}
				}
				tx.Set([]byte("k"), nil)
				if attempts++; attempts == 1 {
					return kv.NewError(kv.CodeNotCommitted, "")
				}
				return nil
			})
			if want := (measure.Waits{ReadVersion: 400 * time.Millisecond, Commit: 300 * time.Millisecond}); err != nil || m.Waits() != want {
				t.Errorf("%s: %+v, %v, want %+v", name, m.Waits(), err, want)
			}
		})
	}
}
