// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

// traceList lists what a tracer is told.
type traceList struct {
	reads   []ReadTrace
	writes  []WriteTrace
	commits []CommitTrace
	retries []RetryTrace
}

func (l *traceList) tracer() *Tracer {
	return &Tracer{
		Read:   func(r ReadTrace) { l.reads = append(l.reads, r) },
		Write:  func(w WriteTrace) { l.writes = append(l.writes, w) },
		Commit: func(c CommitTrace) { l.commits = append(l.commits, c) },
		Retry:  func(r RetryTrace) { l.retries = append(l.retries, r) },
	}
}

// TestTracer makes a transaction that conflicts once, and looks at what the tracer
// is told of it.
func TestTracer(t *testing.T) {
	var told traceList
	db, err := OpenMemoryWith(Options{Tracer: told.tracer(), Transactions: kv.TransactionDefaults{ReportConflictingKeys: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	ctx := t.Context()
	a := kv.KeyRange{Begin: []byte("a"), End: []byte("a\x00")}
	tx := begin(t, db)
	defer tx.Cancel()
	for attempt := range 2 {
		if _, err := tx.Get([]byte("a")).Get(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Snapshot().GetRange(kv.KeyRange{Begin: []byte("a"), End: []byte("c")}.Selectors(), kv.RangeOptions{}).Slice(ctx); err != nil {
			t.Fatal(err)
		}
		tx.Atomic(kv.Add, []byte("b"), []byte{1})
		if attempt == 0 {
			transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("a"), []byte("other")) })
		}
		if err := tx.Commit(ctx); err != nil {
			if err := tx.OnError(ctx, err); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := traceList{
		reads: []ReadTrace{
			{AttemptID: AttemptID{1, 1}, Method: "Get", Range: kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(a.Begin)}},
			{AttemptID: AttemptID{1, 1}, Method: "GetRange", Snapshot: true, Range: kv.KeyRange{Begin: a.Begin, End: []byte("c")}.Selectors()},
			{AttemptID: AttemptID{1, 2}, Method: "Get", Range: kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(a.Begin)}, Pairs: 1, Bytes: 6},
			{AttemptID: AttemptID{1, 2}, Method: "GetRange", Snapshot: true, Range: kv.KeyRange{Begin: a.Begin, End: []byte("c")}.Selectors(), Pairs: 1, Bytes: 6},
			// The batch before ended at the first key that the transaction did not know.
			{AttemptID: AttemptID{1, 2}, Method: "GetRange", Snapshot: true, Range: kv.SelectorRange{Begin: kv.FirstGreaterThan(a.Begin), End: kv.FirstGreaterOrEqual([]byte("c"))}},
		},
		writes: []WriteTrace{
			{AttemptID{1, 1}, "Atomic", kv.KeyRange{Begin: []byte("b"), End: []byte("b\x00")}, 1},
			{AttemptID{2, 1}, "Set", a, 5},
			{AttemptID{1, 2}, "Atomic", kv.KeyRange{Begin: []byte("b"), End: []byte("b\x00")}, 1},
		},
	}
	if diff := cmp.Diff(want.reads, told.reads, cmpopts.IgnoreTypes(time.Duration(0))); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.writes, told.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if c := told.commits; len(c) != 3 || c[0].Err != nil || kv.CodeOf(c[1].Err) != kv.CodeNotCommitted || c[1].Version != -1 || c[2].Err != nil || c[2].Version <= c[0].Version {
		t.Errorf("commits %+v", c)
	} else if diff := cmp.Diff([]kv.KeyRange{a}, c[1].Conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if r := told.retries; len(r) != 1 || r[0].AttemptID != (AttemptID{1, 1}) || kv.CodeOf(r[0].Cause) != kv.CodeNotCommitted || r[0].Err != nil {
		t.Errorf("retries %+v", r)
	}
}

// TestTracerConformance runs the conformance suite on a database with a tracer: a
// program sees no difference.
func TestTracerConformance(t *testing.T) {
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database {
		db, err := OpenMemoryWith(Options{Tracer: &Tracer{
			Read: func(ReadTrace) {}, Write: func(WriteTrace) {}, Commit: func(CommitTrace) {}, Retry: func(RetryTrace) {},
		}})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = db.Close() })
		return db
	})
}

// TestNoTracer checks that transactions are not wrapped where there is no tracer.
func TestNoTracer(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	if tx, ok := begin(t, db).(*tracerTransaction); ok {
		t.Fatalf("without a tracer Begin returns a %T", tx)
	}
}

// BenchmarkTracer makes a transaction of one read without a tracer, and with one.
func BenchmarkTracer(b *testing.B) {
	for name, tracer := range map[string]*Tracer{"none": nil, "read": {Read: func(ReadTrace) {}}} {
		b.Run(name, func(b *testing.B) {
			db, err := OpenMemoryWith(Options{Tracer: tracer})
			if err != nil {
				b.Fatal(err)
			}
			defer closeTest(b, db)
			b.ReportAllocs()
			for b.Loop() {
				_ = db.ReadTransact(context.Background(), func(tx kv.ReadTransaction) error {
					_, err := tx.Get([]byte("key")).Get(context.Background())
					return err
				})
			}
		})
	}
}
