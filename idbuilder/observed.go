// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// usage has the counts that concern no single key.
type usage struct {
	errors     sync.Map // of *count, by operation
	fromMemory count    // answers in an outage of the store
}

type count = atomic.Uint64

// countingStore is a store whose failures are counted.
type countingStore struct {
	store.Store
	usage *usage
}

// countFailure counts an error unless it is one of a store's normal answers.
func (o countingStore) countFailure(operation string, err error) {
	if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExhausted) ||
		errors.Is(err, context.Canceled) {
		return
	}
	n, _ := o.usage.errors.LoadOrStore(operation, new(count))
	n.(*count).Add(1)
}

func (o countingStore) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	answer, err := o.Store.Reserve(ctx, name, r)
	o.countFailure("reserve", err)
	return answer, err
}

func (o countingStore) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	answer, err := o.Store.Sequence(ctx, name)
	o.countFailure("sequence", err)
	return answer, err
}

func (o countingStore) SetSequence(ctx context.Context, name string, value, version int64) error {
	err := o.Store.SetSequence(ctx, name, value, version)
	o.countFailure("set_sequence", err)
	return err
}

func (o countingStore) DeleteSequence(ctx context.Context, name string) (bool, error) {
	found, err := o.Store.DeleteSequence(ctx, name)
	o.countFailure("delete_sequence", err)
	return found, err
}

func (o countingStore) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	answer, err := o.Store.Get(ctx, kind, key)
	o.countFailure("get", err)
	return answer, err
}

func (o countingStore) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	answer, err := o.Store.Put(ctx, kind, d)
	o.countFailure("put", err)
	return answer, err
}

func (o countingStore) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	err := o.Store.Delete(ctx, kind, key, version)
	o.countFailure("delete", err)
	return err
}

func (o countingStore) List(ctx context.Context, kind store.Kind, options store.ListOptions) ([]store.Document, error) {
	answer, err := o.Store.List(ctx, kind, options)
	o.countFailure("list", err)
	return answer, err
}

func (o countingStore) Revision(ctx context.Context) (int64, error) {
	answer, err := o.Store.Revision(ctx)
	o.countFailure("revision", err)
	return answer, err
}

func (o countingStore) Advance(ctx context.Context) (int64, error) {
	answer, err := o.Store.Advance(ctx)
	o.countFailure("advance", err)
	return answer, err
}

func (o countingStore) Ping(ctx context.Context) error {
	err := o.Store.Ping(ctx)
	o.countFailure("ping", err)
	return err
}
