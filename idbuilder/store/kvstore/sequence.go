// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// sequenceFormat is the first element of a sequence's value.
const sequenceFormat = 1

// sequence is a stored sequence.
type sequence struct {
	store.Sequence
	mark string // of the call that wrote it
}

// encode returns the value of the key: (format, value, version, mark).
func (q sequence) encode() []byte {
	b := tuple.AppendInt(nil, sequenceFormat)
	b = tuple.AppendInt(b, q.Value)
	b = tuple.AppendInt(b, q.Version)
	return tuple.AppendString(b, q.mark)
}

func (q *sequence) decode(b []byte) error {
	b, err := newer.ReadFormat(b, sequenceFormat)
	if err != nil {
		return err
	}
	if q.Value, b, err = tuple.ReadInt(b); err != nil {
		return err
	}
	if q.Version, b, err = tuple.ReadInt(b); err != nil {
		return err
	}
	if q.mark, b, err = tuple.ReadString(b); err != nil {
		return err
	}
	if len(b) > 0 || q.Version < 1 {
		return fmt.Errorf("version %d and %d further bytes do not make a sequence", q.Version, len(b))
	}
	return nil
}

// readSequence returns a sequence; one with the version 0 if there is none.
func readSequence(ctx context.Context, tx kv.ReadTransaction, k keys, name string) (q sequence, err error) {
	key := k.sequence(name)
	value, err := tx.Get(key).Get(ctx)
	if err != nil || value == nil {
		return q, err
	}
	if err := q.decode(value); err != nil {
		return q, corrupt(key, err)
	}
	return q, nil
}
