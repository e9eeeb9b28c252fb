// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

var ctx = context.Background()

// compare shows records without their marker fields. Equal bytes are compared at
// once: cmp looks at each by reflection, which takes seconds for large ones under
// the race detector.
func compare(want, got any) string {
	return cmp.Diff(want, got, cmp.FilterPath(isBlank, cmp.Ignore()), cmp.FilterValues(sameBytes, cmp.Comparer(bytes.Equal)))
}

func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func isBlank(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "_"
}

func open(t testing.TB, engine kv.Database) *persistable.DB {
	t.Helper()
	return openWith(t, engine, persistable.Options{})
}

func openWith(t testing.TB, engine kv.Database, o persistable.Options) *persistable.DB {
	t.Helper()
	db, err := persistable.Open(ctx, engine, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, db) })
	return db
}

// closeDB closes a DB. It may fail to give back its leases: the
// test's engine may fail, and lost acknowledgements take long.
func closeDB(t testing.TB, db *persistable.DB) {
	if err := db.Close(); err != nil {
		t.Log(err)
	}
}

// onEngines runs a test on the engine as it is, and on the hostile one, which
// retries everything, loses acknowledgements and answers late.
func onEngines(t *testing.T, test func(t *testing.T, db *persistable.DB)) {
	t.Run("plain", func(t *testing.T) { test(t, open(t, enginetest.Open(t))) })
	t.Run("hostile", func(t *testing.T) { test(t, open(t, faults.HostileT(t, enginetest.Open(t)))) })
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError checks that err is target, with all texts in its own.
func wantError(t testing.TB, err, target error, texts ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want %q in it", err, text)
		}
	}
}

// wantAs returns the error in err's chain that is of type E.
func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want a %T", err, e)
	}
	return e
}

// sound fails the test if Verify finds a fault.
func sound(t testing.TB, verify func(context.Context, persistable.VerifyOptions) (persistable.Report, error)) persistable.Report {
	t.Helper()
	return soundWith(t, verify, persistable.VerifyOptions{})
}

// soundWith is sound with options.
func soundWith(t testing.TB, verify func(context.Context, persistable.VerifyOptions) (persistable.Report, error), o persistable.VerifyOptions) persistable.Report {
	t.Helper()
	report, err := verify(ctx, o)
	check(t, err)
	for _, f := range report.Faults {
		t.Error(f)
	}
	return report
}

var (
	day0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	day1 = day0.AddDate(0, 0, 1)
	day2 = day0.AddDate(0, 0, 2)
)

func ptr[T any](v T) *T { return &v }

// numbers returns the numbers of orders, in order: what queries are compared by.
func numbers(orders []*Order) []string {
	all := []string{}
	for _, o := range orders {
		all = append(all, o.Number)
	}
	return all
}

func slugs(articles []*Article) []string {
	all := []string{}
	for _, a := range articles {
		all = append(all, a.Slug)
	}
	return all
}

// someOrders creates n orders with the numbers 00, 01, …; three in a row are of
// one day, and their states alternate.
func someOrders(t testing.TB, s *OrderStore, n int) []*Order {
	t.Helper()
	var all []*Order
	for i := range n {
		o := s.New(Order{Number: fmt.Sprintf("%02d", i), Status: OrderStatus(i % 3), CreatedAt: day0.AddDate(0, 0, i/3), Amount: int64(i)})
		check(t, s.Create(ctx, o))
		all = append(all, o)
	}
	return all
}

// dump returns all pairs of the database.
func dump(t testing.TB, db *persistable.DB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		clear(all)
		for pair, err := range tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			all[string(pair.Key)] = pair.Value
		}
		return nil
	}))
	return all
}

// faulty is an engine that misbehaves as a test tells it. Both of its functions
// may be nil.
type faulty struct {
	kv.Database

	mu sync.Mutex
	// onCommit is called instead of the n-th commit (from 1) of all and returns
	// what the program is told.
	onCommit func(n int, commit func() error) error
	// onRead is called before the n-th read (from 1) of all that are not free,
	// and returns the error with which it fails, or nil.
	onRead         func(n int) error
	commits, reads int

	// slowBatch is how long each batch of a range takes, which then has one pair.
	slowBatch time.Duration
}

// begin forgets what was counted.
func (f *faulty) begin(onRead func(n int) error, onCommit func(n int, commit func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onRead, f.onCommit, f.reads, f.commits = onRead, onCommit, 0, 0
}

func (f *faulty) nextRead() error {
	f.mu.Lock()
	f.reads++
	n, hook := f.reads, f.onRead
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(n)
}

func (f *faulty) commit(commit func() error) error {
	f.mu.Lock()
	f.commits++
	n, hook := f.commits, f.onCommit
	f.mu.Unlock()
	if hook == nil {
		return commit()
	}
	return hook(n, commit)
}

func (f *faulty) Begin() (kv.Transaction, error) {
	tx, err := f.Database.Begin()
	if err != nil {
		return nil, err
	}
	return &faultyTx{Transaction: tx, view: faultyView{tx, f}}, nil
}

func (f *faulty) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := f.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

func (f *faulty) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := f.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

type faultyTx struct {
	kv.Transaction
	view faultyView
}

func (t *faultyTx) Get(key []byte) kv.Future[[]byte] { return t.view.Get(key) }

func (t *faultyTx) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return t.view.GetRange(r, o)
}

func (t *faultyTx) Snapshot() kv.ReadTransaction { return t.view.Snapshot() }

func (t *faultyTx) Commit(ctx context.Context) error {
	return t.view.faulty.commit(func() error { return t.Transaction.Commit(ctx) })
}

func (t *faultyTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

func (t *faultyTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

type faultyView struct {
	kv.ReadTransaction
	faulty *faulty
}

func (v faultyView) Snapshot() kv.ReadTransaction {
	return faultyView{v.ReadTransaction.Snapshot(), v.faulty}
}

func (v faultyView) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}

func (v faultyView) Get(key []byte) kv.Future[[]byte] {
	if string(key) != kv.MetadataVersionKey {
		if err := v.faulty.nextRead(); err != nil {
			return kv.Resolved[[]byte](nil, err)
		}
	}
	return v.ReadTransaction.Get(key)
}

func (v faultyView) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	if err := v.faulty.nextRead(); err != nil {
		return kv.StreamRange(r, o, func(kv.BatchRequest) kv.Future[kv.Batch] {
			return kv.Resolved(kv.Batch{}, err)
		})
	}
	if v.faulty.slowBatch == 0 {
		return v.ReadTransaction.GetRange(r, o)
	}
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		time.Sleep(v.faulty.slowBatch)
		req.Limit, req.Mode = 1, kv.ModeExact
		pairs, err := v.ReadTransaction.GetRange(req.SelectorRange, req.RangeOptions).Slice(ctx)
		return kv.Resolved(kv.Batch{KVs: pairs, More: len(pairs) > 0}, err)
	})
}

// The fates of a commit.
func lost(commit func() error) error { // it commits, and the caller does not learn it
	if err := commit(); err != nil {
		return err
	}
	return kv.NewError(kv.CodeCommitUnknownResult, "the acknowledgement was lost")
}

func dropped(func() error) error { // it does not commit, and the caller does not learn it
	return kv.NewError(kv.CodeCommitUnknownResult, "the commit was lost")
}

func conflict(func() error) error { return kv.NewError(kv.CodeNotCommitted, "made up") }

func honest(commit func() error) error { return commit() }

// fates lets the commits have these fates, and later ones be honest.
func fates(list ...func(func() error) error) func(int, func() error) error {
	return func(n int, commit func() error) error {
		if n <= len(list) {
			return list[n-1](commit)
		}
		return commit()
	}
}

// faultyGenerator is a generator in an outage.
type faultyGenerator struct{ err error }

func (f faultyGenerator) Next(context.Context) (idgen.ID, error) { return 0, f.err }
