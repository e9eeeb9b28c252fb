// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// lane is the read of one shard.
type lane struct {
	prefix []byte
	left   kv.KeyRange // what is not read yet; empty at the end
	unseen kv.KeyRange // what the transaction does not conflict with yet
	pairs  []kv.KeyValue
	answer kv.RangeResult
	limit  int // of the answer; 0 if there is none
	took   int // how many pairs the last answer had
}

// await waits for the answer and takes its pairs.
func (l *lane) await(ctx context.Context, reverse bool) error {
	for batch, err := range l.answer.Batches(ctx) {
		if err != nil {
			return err
		}
		l.addBatch(batch, reverse)
		break // merge.readAhead asks for the rest
	}
	return nil
}

func (l *lane) addBatch(batch kv.Batch, reverse bool) {
	l.took = len(batch.KVs)
	switch {
	case l.took == 0, !batch.More && (l.limit == 0 || l.took < l.limit):
		l.left.Begin = l.left.End
	case reverse:
		l.left.End = batch.KVs[l.took-1].Key
	default:
		l.left.Begin = kv.Successor(batch.KVs[l.took-1].Key)
	}
	l.pairs = slices.Concat(l.pairs, batch.KVs)
}

// isAtEnd reports whether there is nothing more to read.
func (l *lane) isAtEnd() bool { return bytes.Compare(l.left.Begin, l.left.End) >= 0 }

// isDry reports whether the next pair must be read.
func (l *lane) isDry() bool { return len(l.pairs) == 0 && !l.isAtEnd() }
