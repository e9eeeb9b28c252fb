// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// faulty has the wrong engines by the name of their fault: each function returns
// what a new database does to its transactions.
var faulty = map[string]func() func(kv.Transaction) kv.Transaction{
	"no read conflicts":                  always(func(tx kv.Transaction) kv.Transaction { return noReadConflict{tx} }),
	"drifting reads":                     always(func(tx kv.Transaction) kv.Transaction { return driftingReads{tx} }),
	"dirty writes":                       always(func(tx kv.Transaction) kv.Transaction { return dirtyWrites{tx} }),
	"no selector conflicts":              always(func(tx kv.Transaction) kv.Transaction { return quietSelectors{tx} }),
	"no phantoms":                        always(func(tx kv.Transaction) kv.Transaction { return noPhantom{tx} }),
	"ranges end with their first batch":  always(func(tx kv.Transaction) kv.Transaction { return lossyRange{tx} }),
	"absent keys are empty":              always(func(tx kv.Transaction) kv.Transaction { return absentIsEmpty{tx} }),
	"equal operations are merged":        always(func(tx kv.Transaction) kv.Transaction { return mergedOperations{tx.(*naiveTx)} }),
	"additions conflict":                 always(func(tx kv.Transaction) kv.Transaction { return addReads{tx} }),
	"watches never fire":                 always(func(tx kv.Transaction) kv.Transaction { return deafWatch{tx} }),
	"everything is retried":              always(func(tx kv.Transaction) kv.Transaction { return eagerRetry{tx} }),
	"cleared ranges stay":                always(func(tx kv.Transaction) kv.Transaction { return forgetfulClear{tx} }),
	"snapshot reads conflict":            always(func(tx kv.Transaction) kv.Transaction { return sharedSnapshot{tx} }),
	"commits have the read version":      always(func(tx kv.Transaction) kv.Transaction { return denseVersion{tx} }),
	"writes are reads":                   always(func(tx kv.Transaction) kv.Transaction { return overeagerConflict{tx} }),
	"sizes are not known":                always(func(tx kv.Transaction) kv.Transaction { return noSizes{tx} }),
	"ranges are not split":               always(func(tx kv.Transaction) kv.Transaction { return noSplits{tx} }),
	"sizes are reads":                    always(func(tx kv.Transaction) kv.Transaction { return readingSizes{tx} }),
	"conflicts are not told":             always(func(tx kv.Transaction) kv.Transaction { return muteConflicts{tx} }),
	"conflicts are forgotten by OnError": always(func(tx kv.Transaction) kv.Transaction { return forgetsConflicts{tx} }),
	"arguments are used after the call":  always(func(tx kv.Transaction) kv.Transaction { return keepsArguments{tx, new([][2][]byte)} }),
	"all reads are told as conflicts":    always(func(tx kv.Transaction) kv.Transaction { return &allConflicts{Transaction: tx} }),
	"conflicts are told unasked":         always(func(tx kv.Transaction) kv.Transaction { return chattyConflicts{tx}.asking() }),
	"sizes do not shrink":                growingSizesOf,
	"stale reads":                        staleReads,
	"options are ignored":                always(func(tx kv.Transaction) kv.Transaction { return ignoresOptions{tx} }),
	"tags are refused":                   always(func(tx kv.Transaction) kv.Transaction { return refusesTags{tx} }),
	"options are forgotten": always(func(tx kv.Transaction) kv.Transaction {
		tx.(*naiveTx).options = kv.TransactionOptions{}
		return tx
	}),
}

type ignoresOptions struct{ kv.Transaction }

func (ignoresOptions) SetOptions(kv.TransactionOptions) error { return nil }

type refusesTags struct{ kv.Transaction }

func (t refusesTags) SetOptions(o kv.TransactionOptions) error {
	if len(o.Tags) > 0 {
		return kv.NewError(kv.CodeInvalidOption, "tags")
	}
	return t.Transaction.SetOptions(o)
}

// OpenFaulty returns the naive engine with a fault.
func OpenFaulty(tb testing.TB, fault string) kv.Database {
	tb.Helper()
	return OpenFaultyWith(tb, fault, kv.TransactionOptions{})
}

// OpenFaultyWith is OpenFaulty with defaults of transactions.
func OpenFaultyWith(tb testing.TB, fault string, d kv.TransactionOptions) kv.Database {
	tb.Helper()
	spoil, ok := faulty[fault]
	if !ok {
		tb.Fatalf("there is no wrong engine %q", fault)
	}
	return wrongDB{OpenWith(tb, d), spoil()}
}

func always(spoil func(kv.Transaction) kv.Transaction) func() func(kv.Transaction) kv.Transaction {
	return func() func(kv.Transaction) kv.Transaction { return spoil }
}

// wrongDB hands out transactions with a fault.
type wrongDB struct {
	kv.Database
	spoil func(kv.Transaction) kv.Transaction
}

func (w wrongDB) Begin() (kv.Transaction, error) {
	tx, err := w.Database.Begin()
	if err != nil {
		return nil, err
	}
	return w.spoil(tx), nil
}

func (w wrongDB) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := w.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

func (w wrongDB) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := w.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// The faults. Each embeds a right transaction.
type (
	noReadConflict struct{ kv.Transaction } // reads add no conflict range
	noPhantom      struct{ kv.Transaction } // ranges add conflicts for found keys only
	lossyRange     struct{ kv.Transaction } // a range read ends with its first batch, of two pairs
	absentIsEmpty  struct{ kv.Transaction }
	keepsArguments struct { // writes what the caller's slices hold at commit
		kv.Transaction
		kept *[][2][]byte
	}
	addReads          struct{ kv.Transaction } // additions conflict
	deafWatch         struct{ kv.Transaction }
	eagerRetry        struct{ kv.Transaction } // OnError retries everything
	forgetfulClear    struct{ kv.Transaction }
	sharedSnapshot    struct{ kv.Transaction } // snapshot reads conflict
	denseVersion      struct{ kv.Transaction } // the committed version is the read version
	overeagerConflict struct{ kv.Transaction } // writes are reads as well
)

func (w noReadConflict) Get(key []byte) kv.Future[[]byte] { return w.Snapshot().Get(key) }

func (w noPhantom) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return w.Snapshot().GetRange(r, o).Wrap(func(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		batch, err := f.Get(context.Background())
		for _, pair := range batch.KVs {
			_ = w.AddReadConflictKey(pair.Key)
		}
		return kv.Resolved(batch, err)
	})
}

func (w lossyRange) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return w.Transaction.GetRange(r, o).Wrap(func(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		batch, err := f.Get(context.Background())
		return kv.Resolved(kv.Batch{KVs: batch.KVs[:min(len(batch.KVs), 2)]}, err)
	})
}

func (w absentIsEmpty) Get(key []byte) kv.Future[[]byte] {
	value, err := w.Transaction.Get(key).Get(context.Background())
	return kv.Resolved(append([]byte{}, value...), err)
}

func (w keepsArguments) Set(key, value []byte) { *w.kept = append(*w.kept, [2][]byte{key, value}) }

func (w keepsArguments) Commit(ctx context.Context) error {
	for _, pair := range *w.kept {
		w.Transaction.Set(pair[0], pair[1])
	}
	*w.kept = nil
	return w.Transaction.Commit(ctx)
}

func (w addReads) Atomic(op kv.MutationType, key, operand []byte) {
	_ = w.AddReadConflictKey(key)
	w.Transaction.Atomic(op, key, operand)
}

func (w deafWatch) Watch([]byte) kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }

func (w eagerRetry) OnError(context.Context, error) error {
	w.Reset()
	return nil
}

func (w forgetfulClear) ClearRange(r kv.KeyRange) {
	if string(r.Begin) == "" { // the suites' own cleaning must work
		w.Transaction.ClearRange(r)
	}
}

func (w sharedSnapshot) Snapshot() kv.ReadTransaction { return w.Transaction }

func (w denseVersion) GetCommittedVersion() (int64, error) {
	version, err := w.GetReadVersion().Get(context.Background())
	if err != nil {
		return 1, nil
	}
	return version, nil
}

func (w overeagerConflict) Set(key, value []byte) {
	_ = w.AddReadConflictKey(key)
	w.Transaction.Set(key, value)
}

// mergedOperations makes one operation of two equal ones on one key, whether that is
// the same or not.
type mergedOperations struct{ *naiveTx }

func (t mergedOperations) Atomic(op kv.MutationType, key, operand []byte) {
	if n := len(t.writes); n > 0 && t.writes[n-1].op == op && !t.writes[n-1].stamps() && bytes.Equal(t.writes[n-1].keys.Begin, key) {
		both := model.Model{string(key): string(t.writes[n-1].operand)}
		both.Atomic(op, string(key), operand)
		t.writes[n-1].operand = []byte(both[string(key)])
		return
	}
	t.naiveTx.Atomic(op, key, operand)
}

// Faults of isolation, in addition to those of recorder_test.go. Each embeds a right
// transaction of the naive engine.
type (
	driftingReads  struct{ kv.Transaction } // until it writes, every read sees the newest version
	dirtyWrites    struct{ kv.Transaction } // Set takes effect at once
	quietSelectors struct{ kv.Transaction } // GetKey adds a conflict for the found key only
)

func (w driftingReads) Get(key []byte) kv.Future[[]byte] {
	_ = w.AddReadConflictKey(key) // only readers see the fault
	tx := w.Transaction.(*naiveTx)
	tx.db.mu.Lock()
	writing := len(tx.writes) > 0
	tx.db.mu.Unlock()
	if writing {
		return tx.Get(key)
	}
	newest, err := tx.db.Begin()
	if err != nil {
		return kv.Resolved([]byte(nil), err)
	}
	return newest.Get(key)
}

func (w dirtyWrites) Set(key, value []byte) {
	_ = w.Transaction.(*naiveTx).db.Transact(context.Background(), func(tx kv.Transaction) error {
		defer tx.Set(key, value)
		return tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0) // or it would conflict with itself
	})
	w.Transaction.Set(key, value)
}

func (w quietSelectors) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	key, err := w.Snapshot().GetKey(sel).Get(context.Background())
	if err == nil && string(key) < "\xff" {
		_ = w.AddReadConflictKey(key)
	}
	return kv.Resolved(key, err)
}

// staleReads lets transactions read the version that was the newest when the
// one before them began.
func staleReads() func(kv.Transaction) kv.Transaction {
	earlier := new(atomic.Int64)
	return func(tx kv.Transaction) kv.Transaction {
		db := tx.(*naiveTx).db
		db.mu.Lock()
		newest := db.last().number
		db.mu.Unlock()
		if version := earlier.Swap(newest); version != 0 {
			tx.SetReadVersion(version)
		}
		return tx
	}
}

// Faults of what conflicts tell. Each embeds a right transaction of the naive
// engine.
type (
	muteConflicts struct{ kv.Transaction } // there are never any
	allConflicts  struct {                 // every read is one
		kv.Transaction
		reads []kv.KeyRange
	}
	chattyConflicts  struct{ kv.Transaction } // they are told unasked
	forgetsConflicts struct{ kv.Transaction } // OnError forgets them
)

func (w muteConflicts) ConflictingKeys(context.Context) ([]kv.KeyRange, error) { return nil, nil }

func (w *allConflicts) Commit(ctx context.Context) error {
	w.reads, _, _ = w.ConflictRanges(ctx)
	return w.Transaction.Commit(ctx)
}

func (w *allConflicts) ConflictingKeys(context.Context) ([]kv.KeyRange, error) { return w.reads, nil }

func (w chattyConflicts) asking() kv.Transaction {
	_ = w.Transaction.SetOption(kv.OptionReportConflictingKeys, 0)
	return w.Transaction
}

func (w forgetsConflicts) OnError(ctx context.Context, err error) error {
	w.Transaction.(*naiveTx).told = nil
	return w.Transaction.OnError(ctx, err)
}

// Faults of sizes. Each embeds a right transaction of the naive engine.
type (
	noSizes      struct{ kv.Transaction } // every range has 0 bytes
	growingSizes struct {                 // what was cleared counts
		kv.Transaction
		peak *atomic.Int64
	}
	noSplits     struct{ kv.Transaction } // every range is one part
	readingSizes struct{ kv.Transaction } // they read at the read version, and conflict
)

func (w noSizes) GetEstimatedRangeSizeBytes(kv.KeyRange) kv.Future[int64] {
	return kv.Resolved(int64(0), nil)
}

func (w growingSizes) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	size, err := w.Transaction.GetEstimatedRangeSizeBytes(r).Get(context.Background())
	w.peak.Store(max(size, w.peak.Load())) // one goroutine asks
	return kv.Resolved(w.peak.Load(), err)
}

// growingSizesOf returns transactions with sizes that never shrink.
func growingSizesOf() func(kv.Transaction) kv.Transaction {
	peak := new(atomic.Int64)
	return func(tx kv.Transaction) kv.Transaction { return growingSizes{tx, peak} }
}

func (w noSplits) Snapshot() kv.ReadTransaction { return w }

func (w noSplits) GetRangeSplitPoints(r kv.KeyRange, _ int64) kv.Future[[][]byte] {
	return kv.Resolved([][]byte{r.Begin, r.End}, nil)
}

func (w readingSizes) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	_, err := w.GetRange(r.Selectors(), kv.RangeOptions{}).Slice(context.Background())
	return kv.Resolved(int64(0), err)
}
