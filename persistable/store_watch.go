// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Watch yields the record with that id as it is, and then as it is after each change
// that Watch sees: nil while there is no such record. Changes in quick succession may
// be seen as one, but the last one is always seen: a change is either in what Watch
// has read, or comes after the version of that read and wakes Watch up. What is
// written over with the same bytes is no change.
//
//	for o, err := range orders.Watch(ctx, id) {
//		if err != nil {
//			return err
//		}
//		if o == nil || o.Status == Shipped {
//			break
//		}
//	}
//
// Watch goes on until the caller stops, or until ctx ends: then it yields the cause.
// It yields any other error, such as a record that cannot be decoded, and stops. It
// survives retryable errors, watches that fire without a change, and the removal of
// the directory. Where the engine has no room for another watch
// ([kv.MaxWatches]), or the directory does not exist yet, Watch reads the record every
// [Options].WatchPoll. The same goes, thirty times as slowly, for a directory that is
// moved. A store that is bound to a transaction cannot watch.
//
// Cost: a watch on the record, one on each of its further values if it is larger than
// 100,000 bytes, and one or two rounds of reads for each change.
//
//go:noinline
func (s *Store[T, ID]) Watch(ctx context.Context, id ID) iter.Seq2[T, error] {
	return watchOf[T](ctx, (*erased.Store[ID])(s), id)
}

func watchOf[T, ID any](ctx context.Context, store *erased.Store[ID], id ID) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		newSource(store.Source()).watch(ctx, store.AppendID(nil, id), func(v any, err error) bool {
			return yield(typed[T](v, err))
		})
	}
}
