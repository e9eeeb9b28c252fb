// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// countChange counts a grant, a renewal or a return of the name. It reads nothing.
func (k keys) countChange(tx kv.Transaction) { tx.Atomic(kv.Add, k.renewal, kv.Int64(1)) }

// freeName frees the name and keeps the epoch. It counts, so that every change of a
// name shows in its renewal key.
func (k keys) freeName(tx kv.Transaction, epoch int64) {
	tx.Set(k.fence, State{Epoch: epoch}.encode())
	k.countChange(tx)
}

// keys are those of one name. The fence key names the holder and is written
// only when that changes; the renewal key counts. So a renewal does not
// conflict with the transactions of the holder, which read the fence key.
type keys struct{ fence, renewal []byte }

// Letters of the keys in the directory: (letter, name).
const (
	letterFence   = "F"
	letterRenewal = "N"
)

func keysOf(d *directory.Directory, name string) (k keys, err error) {
	prefix, err := d.Prefix()
	if err != nil {
		return k, err
	}
	key := func(letter string) []byte {
		b := append(make([]byte, 0, len(prefix)+len(name)+8), prefix...)
		return tuple.AppendString(tuple.AppendString(b, letter), name)
	}
	return keys{fence: key(letterFence), renewal: key(letterRenewal)}, nil
}

// readState reads both keys in one round.
func (k keys) readState(ctx context.Context, tx kv.ReadTransaction, name string) (State, error) {
	return k.startRead(tx).wait(ctx, name)
}

// startRead begins to read both keys; those of no directory have no values.
func (k keys) startRead(tx kv.ReadTransaction) nameRead {
	if k.fence == nil {
		return nameRead{}
	}
	return nameRead{k.fence, tx.Get(k.fence), tx.Get(k.renewal)}
}
