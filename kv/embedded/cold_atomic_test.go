// SPDX-License-Identifier: Apache-2.0

//go:build unix

package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// BenchmarkAtomicAdd makes durable commits of one atomic addition each, to settled keys in
// no order, each once: run it with at most -benchtime 100000x. The keys of cold were not read
// before, those of warm are in the row cache. cpu-ns/op is the processor time of the process.
func BenchmarkAtomicAdd(b *testing.B) {
	ending, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, ctx := range map[string]context.Context{"": context.Background(), "-cancel": ending} {
		for _, reads := range []int{0, 2} {
			b.Run(fmt.Sprintf("%s-64%s", []string{"cold", "", "warm"}[reads], name), func(b *testing.B) {
				db := filled(b, "base")
				defer closeTest(b, db)
				for i := range reads * benchKeys {
					if _, err := db.disk.base.Get(benchKey(i % benchKeys)); err != nil {
						b.Fatal(err)
					}
				}
				one := binary.LittleEndian.AppendUint64(nil, 1)
				touch(b, 64, func(key []byte) error {
					return db.Transact(ctx, func(tx kv.Transaction) error {
						tx.Atomic(kv.Add, key, one)
						return nil
					})
				})
			})
		}
	}
}
