// SPDX-License-Identifier: Apache-2.0

package budgets

import "testing"

// BenchmarkStages runs every entrant of every contest as a Go benchmark:
//
//	go test ./budgets -run '^$' -bench 'Stages/commit' -benchtime 20000x
//
// Use it to examine one entrant. cmd/budgets checks the budgets: it interleaves the rounds of
// the entrants that it compares.
func BenchmarkStages(b *testing.B) {
	for _, stage := range Stages() {
		b.Run(stage.Name, func(b *testing.B) {
			set, err := stage.Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := set.Close(); err != nil {
					b.Error(err)
				}
			}()
			for _, c := range set.Contests {
				for _, e := range c.Entrants {
					b.Run(c.Name+"/"+e.Name, func(b *testing.B) {
						b.ReportAllocs()
						b.StopTimer()
						_, took, err := e.Round(b.N, 0, func() func() {
							b.ResetTimer()
							b.StartTimer()
							return b.StopTimer
						})
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(float64(b.N)/took.Seconds(), "ops/s")
					})
				}
			}
		})
	}
}
