// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Below returns the keys of db that begin with prefix as a database: what is
// before and after them does not exist for it, and its keys lack the prefix.
// System keys are db's. It keeps the contract of package kv but for sizes, which
// count the prefix.
func Below(db kv.Database, prefix []byte) kv.Database {
	end, ok := kv.PrefixEnd(prefix)
	if !ok {
		panic("enginetest: the prefix has no end")
	}
	return below{db, space{string(prefix), string(end)}}
}

type below struct {
	inner kv.Database
	space space
}

func (b below) Begin() (kv.Transaction, error) {
	tx, err := b.inner.Begin()
	if err != nil {
		return nil, err
	}
	return newBelowTx(tx, b.space), nil
}

func (b below) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return b.inner.Transact(ctx, func(tx kv.Transaction) error { return fn(newBelowTx(tx, b.space)) })
}

func (b below) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return b.inner.ReadTransact(ctx, func(tx kv.ReadTransaction) error { return fn(belowView{belowReads{tx, b.space}}) })
}

func (b below) Close() error { return b.inner.Close() }

// belowReads are the reads of a transaction or of a view.
type belowReads struct {
	inner kv.ReadTransaction
	space space
}

func (r belowReads) Get(key []byte) kv.Future[[]byte] { return r.inner.Get(r.space.in(key)) }
func (r belowReads) GetReadVersion() kv.Future[int64] { return r.inner.GetReadVersion() }
func (r belowReads) GetEstimatedRangeSizeBytes(keys kv.KeyRange) kv.Future[int64] {
	return r.inner.GetEstimatedRangeSizeBytes(r.space.keys(keys))
}

func (r belowReads) GetRangeSplitPoints(keys kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	return mapped(r.inner.GetRangeSplitPoints(r.space.keys(keys), chunkSize), func(points [][]byte) [][]byte {
		outer := make([][]byte, len(points))
		for i := range points {
			outer[i] = r.space.out(points[i])
		}
		return outer
	})
}

func (r belowReads) Snapshot() kv.ReadTransaction {
	return belowView{belowReads{r.inner.Snapshot(), r.space}}
}

func (r belowReads) SetOptions(o kv.TransactionOptions) error { return r.inner.SetOptions(o) }

func (r belowReads) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	inside, found := r.space.selector(sel), r.space.out
	if string(sel.Key) > userEnd {
		found = func(key []byte) []byte { return key }
	}
	return mapped(r.inner.GetKey(inside), found)
}

func (r belowReads) GetRange(keys kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(keys, o, r.batch)
}

// batch reads one batch. Selectors that may leave the space are resolved first.
func (r belowReads) batch(req kv.BatchRequest) kv.Future[kv.Batch] {
	switch keys := req.SelectorRange; {
	case string(keys.Begin.Key) > userEnd:
		return r.inner.GetRange(keys, req.RangeOptions).First()
	case keys.Begin.Offset == 1 && keys.End.Offset == 1:
		inside := kv.SelectorRange{Begin: r.space.selector(keys.Begin), End: r.space.selector(keys.End)}
		return mapped(r.inner.GetRange(inside, req.RangeOptions).First(), r.space.batch)
	}
	p := kv.NewPromise[kv.Batch]()
	begin, end := r.GetKey(req.Begin), r.GetKey(req.End)
	go func() { p.Resolve(r.resolved(req, begin, end)) }()
	return p.Future()
}

func (r belowReads) resolved(req kv.BatchRequest, begin, end kv.Future[[]byte]) (kv.Batch, error) {
	from, err := begin.Get(context.Background())
	if err != nil {
		return kv.Batch{}, err
	}
	to, err := end.Get(context.Background())
	if err != nil {
		return kv.Batch{}, err
	}
	if string(from) >= string(to) {
		return kv.Batch{}, nil
	}
	req.SelectorRange = kv.KeyRange{Begin: from, End: to}.Selectors()
	return r.batch(req).Get(context.Background())
}

// belowView is a view that only reads.
type belowView struct{ belowReads }

func (v belowView) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}

// mapped returns a future of what change makes of another's value.
func mapped[T any](f kv.Future[T], change func(T) T) kv.Future[T] {
	return kv.NewFuture[T](mapping[T]{f, change})
}

type mapping[T any] struct {
	kv.Future[T]
	change func(T) T
}

func (m mapping[T]) Result() (T, error) {
	value, err := m.Get(context.Background())
	if err == nil {
		value = m.change(value)
	}
	return value, err
}
