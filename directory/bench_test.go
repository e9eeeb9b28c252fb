// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// BenchmarkCacheOpen is what a transaction pays to know its directory.
func BenchmarkCacheOpen(b *testing.B) {
	ctx, db := context.Background(), enginetest.Open(b)
	cache := newCache(b, db, directory.CacheOptions{})
	tenant, p := directory.ElementAs(1, directory.Partition), path("tenants", "1", "orders")
	mustDir(b)(directory.Root().CreateOrOpen(ctx, db, p, tenant))
	open := func(name string, fn func(kv.Transaction) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				transact(b, db, func(tx kv.Transaction) error {
					if _, err := tx.GetReadVersion().Get(ctx); err != nil {
						return err
					}
					return fn(tx)
				})
			}
		})
	}
	open("none", func(kv.Transaction) error { return nil })
	open("cache", func(tx kv.Transaction) error { _, err := cache.Open(ctx, tx, p, tenant); return err })
	open("layer", func(tx kv.Transaction) error { _, err := directory.Root().Open(ctx, tx, p, tenant); return err })
}

// BenchmarkCreate creates directories from many goroutines.
func BenchmarkCreate(b *testing.B) {
	ctx, db := context.Background(), enginetest.Open(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, err := directory.Root().CreateOrOpen(ctx, db, path(fmt.Sprintf("%p-%d", pb, i))); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
