// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/kv/internal/history"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

const testStaleness = 4 * time.Second

// One client sees no difference.
func TestWeakReadsKeepTheContract(t *testing.T) {
	enginetest.Whole(t)
	open := func(tb testing.TB) kv.Database {
		return enginetest.OpenCluster(tb, fdbkv.Options{Transactions: kv.TransactionOptions{MaxStaleness: testStaleness}})
	}
	t.Run("Conformance", func(t *testing.T) { kvtest.RunConformance(t, open) })
	t.Run("Shared", func(t *testing.T) {
		kvtest.RunConformance(t, func(tb testing.TB) kv.Database { return sharedDatabase(open(tb)) })
	})
	t.Run("Serializable", func(t *testing.T) { checkHistories(t, open(t), history.CheckSerializable) })
	t.Run("CommitOrder", func(t *testing.T) { checkHistories(t, open(t), history.CheckCommitOrder) })
	for _, a := range kvtest.Anomalies {
		t.Run(string(a), func(t *testing.T) { kvtest.CheckAnomaly(t, open, a) })
	}
}

// staleModel is what clients may see of a counter: two keys, which each commit raises by one.
type staleModel struct {
	mine  atomic.Int64 // the program of the weak reads has committed it, or read it
	mu    sync.Mutex
	other []countedAt // what another program has committed, in order
}

type countedAt struct {
	count int64
	at    time.Time
}

func (m *staleModel) sawMine(n int64) {
	for {
		before := m.mine.Load()
		if n <= before || m.mine.CompareAndSwap(before, n) {
			return
		}
	}
}

func (m *staleModel) sawOther(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.other = append(m.other, countedAt{n, time.Now()})
}

// least returns what a read that begins now sees at least.
func (m *staleModel) least(staleness time.Duration) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.mine.Load()
	for _, c := range m.other {
		if time.Since(c.at) > staleness {
			n = max(n, c.count)
		}
	}
	return n
}

func readCount(ctx context.Context, tx kv.ReadTransaction) (int64, error) {
	a, b := tx.Get([]byte("a")), tx.Get([]byte("b"))
	first, err := a.Get(ctx)
	if err != nil {
		return 0, err
	}
	second, err := b.Get(ctx)
	if err != nil {
		return 0, err
	}
	if string(first) != string(second) {
		return 0, fmt.Errorf("a is %x, b is %x", first, second)
	}
	return int64(binary.LittleEndian.Uint64(append(first, make([]byte, 8)...))), nil
}

func raise(ctx context.Context, db kv.Database) (int64, error) {
	return kv.Transact(ctx, db, func(tx kv.Transaction) (int64, error) {
		n, err := readCount(ctx, tx)
		tx.Set([]byte("a"), kv.Int64(n+1))
		tx.Set([]byte("b"), kv.Int64(n+1))
		return n + 1, err
	})
}

// Weak reads see what their program has committed and seen, and what others have committed before the
// staleness. Programs raise a counter; some reads of the program are weak, some are not.
func TestWeakReadsAreBounded(t *testing.T) {
	enginetest.Whole(t)(t)
	const staleness = 200 * time.Millisecond
	strong, other := enginetest.OpenCluster(t, fdbkv.Options{}), enginetest.OpenCluster(t, fdbkv.Options{})
	weak := kv.With(strong, kv.TransactionOptions{MaxStaleness: staleness})
	var m staleModel
	var stale atomic.Int64
	check := func(r *rand.Rand) error {
		db, bound := kv.Database(weak), staleness
		if r.IntN(100) == 0 {
			db, bound = strong, 0
		}
		if r.IntN(100) == 0 {
			n, err := raise(t.Context(), db)
			m.sawMine(n)
			return err
		}
		newest := m.least(0)
		least := m.least(bound)
		n, err := kv.ReadTransact(t.Context(), db, func(tx kv.ReadTransaction) (int64, error) { return readCount(t.Context(), tx) })
		if err != nil {
			return err
		}
		if n < least {
			return fmt.Errorf("a read of a staleness of %v has seen %d, at least %d was to be seen", bound, n, least)
		}
		if n < newest {
			stale.Add(1)
		}
		m.sawMine(n)
		return nil
	}
	raiseOther := func(*rand.Rand) error {
		n, err := raise(t.Context(), other)
		m.sawOther(n)
		time.Sleep(time.Millisecond)
		return err
	}
	steps := []func(*rand.Rand) error{raiseOther}
	for range 24 {
		steps = append(steps, check)
	}
	runConcurrently(t, 3*time.Second, steps)
	if stale.Load() == 0 {
		t.Error("no read was weak")
	}
	t.Logf("%d reads have seen less than the newest, of a counter of %d", stale.Load(), m.least(0))
}

func runConcurrently(t *testing.T, limit time.Duration, steps []func(*rand.Rand) error) {
	t.Helper()
	random, ends := seed.Of(t), time.Now().Add(limit)
	var running sync.WaitGroup
	for i, step := range steps {
		running.Go(func() {
			r := rand.New(rand.NewPCG(uint64(random), uint64(i)))
			for time.Now().Before(ends) && !t.Failed() {
				if err := step(r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
}

// weakAfter returns a client, another one, and a weak read of "a" by the first, which knows a version.
func weakAfter(t *testing.T) (db, other *fdbkv.Database, read func(kv.TransactionOptions) string) {
	t.Helper()
	enginetest.Whole(t)(t)
	db, other = enginetest.OpenCluster(t, fdbkv.Options{}), enginetest.OpenCluster(t, fdbkv.Options{})
	read = func(o kv.TransactionOptions) string { return readWeakly(t, db, o) }
	write(t, db, "before")
	if got := read(kv.TransactionOptions{}); got != "before" {
		t.Fatalf("a weak read: %q", got)
	}
	return db, other, read
}

// readWeakly reads "a".
func readWeakly(t *testing.T, db kv.Database, o kv.TransactionOptions) string {
	t.Helper()
	o.MaxStaleness = testStaleness
	value, err := kv.ReadTransact(t.Context(), kv.With(db, o), func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get([]byte("a")).Get(t.Context())
	})
	if err != nil {
		t.Error(err)
	}
	return string(value)
}

// write writes "a", and returns the version.
func write(t *testing.T, db kv.Database, value string) int64 {
	t.Helper()
	tx := beginOn(t, db)
	tx.Set([]byte("a"), []byte(value))
	wantNil(t, tx.Commit(t.Context()))
	version, err := tx.GetCommittedVersion()
	wantNil(t, err)
	return version
}

func TestAtLeast(t *testing.T) {
	_, other, read := weakAfter(t)
	version := write(t, other, "after")
	if got := read(kv.TransactionOptions{}); got != "before" {
		t.Errorf("a weak read has seen %q: it was not weak", got)
	}
	if got := read(kv.TransactionOptions{AtLeast: version}); got != "after" {
		t.Errorf("a read at least as new as a commit of another client: %q", got)
	}
	if got := read(kv.TransactionOptions{}); got != "after" {
		t.Errorf("a weak read after that: %q", got)
	}
}

// The cached version stays older than what another client has committed: a retry at it would conflict again.
func TestWeakWritesRetryAtANewVersion(t *testing.T) {
	db, other, _ := weakAfter(t)
	write(t, other, "after")
	attempts := 0
	err := kv.With(db, kv.TransactionOptions{MaxStaleness: testStaleness}).Transact(t.Context(), func(tx kv.Transaction) error {
		attempts++
		value, err := tx.Get([]byte("a")).Get(t.Context())
		tx.Set([]byte("b"), value)
		return err
	})
	if err != nil || attempts != 2 {
		t.Errorf("%d attempts, %v, want 2", attempts, err)
	}
}

func TestWeakReadAfterAWatch(t *testing.T) {
	db, other, read := weakAfter(t)
	changed, err := kv.Transact(t.Context(), db, func(tx kv.Transaction) (kv.Future[struct{}], error) {
		return tx.Watch([]byte("a")), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, "after")
	if _, err := changed.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(kv.TransactionOptions{}); got != "after" {
		t.Errorf("after a change was told of: %q", got)
	}
}

// A version that cannot be read is replaced, for one that reads and for all that come after.
func TestWeakReadsAtAVersionThatCannotBeRead(t *testing.T) {
	enginetest.Whole(t)(t)
	for name, version := range map[string]int64{"too old": 1, "from the future": math.MaxInt64 / 4} {
		t.Run(name, func(t *testing.T) {
			db := enginetest.OpenCluster(t, fdbkv.Options{})
			write(t, enginetest.OpenCluster(t, fdbkv.Options{}), name)
			db.NoteVersion(version)
			for range 2 {
				if got := readWeakly(t, db, kv.TransactionOptions{}); got != name {
					t.Errorf("%q", got)
				}
			}
			if after, ok := db.KnownVersion(testStaleness); !ok || after == version {
				t.Errorf("the version %d, %v, is kept", after, ok)
			}
		})
	}
}
