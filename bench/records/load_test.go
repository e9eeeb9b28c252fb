// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// BenchmarkLoad loads 100,000 users into an empty store, 10,000 in each call, and tells the
// processor time of one.
func BenchmarkLoad(b *testing.B) {
	all := make([]records.User, 100_000)
	for i := range all {
		all[i] = records.Numbered(i)
	}
	var used time.Duration
	b.ReportAllocs()
	for range b.N {
		engine, err := embedded.Open(b.TempDir(), embedded.Options{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := records.Open(b.Context(), engine)
		if err != nil {
			b.Fatal(err)
		}
		used += processorTimeOf(b, s, all)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(used.Microseconds())/float64(b.N*len(all)), "cpu-µs/record")
}

// processorTimeOf loads users, and returns the processor time of that.
func processorTimeOf(b *testing.B, s records.Store, all []records.User) time.Duration {
	before := measure.ProcessorTime()
	for first := 0; first < len(all); first += 10_000 {
		if _, err := s.Load(b.Context(), all[first:first+10_000]); err != nil {
			b.Fatal(err)
		}
	}
	return measure.ProcessorTime() - before
}
