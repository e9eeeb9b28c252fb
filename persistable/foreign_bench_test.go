// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
)

// BenchmarkCreateWithForeignIndex compares what an index costs a program that has it in
// its code, and one that maintains it from stored bytes.
func BenchmarkCreateWithForeignIndex(b *testing.B) {
	for name, program := range map[string][]int{"no index": nil, "own": {published}, "foreign": nil} {
		b.Run(name, func(b *testing.B) {
			db := open(b, enginetest.Open(b))
			if name != "no index" {
				articles(b, version(db, published), 1)
			}
			s := version(db, program...)
			b.ReportAllocs()
			for b.Loop() {
				check(b, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "x", Tags: []string{"a", "b"}, Published: day0})))
			}
		})
	}
}
