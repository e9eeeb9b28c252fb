// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
)

// bulkChunk is how many users each call of a library gets.
const bulkChunk = 50_000

// Bulk loads n users with three indexes (unique, compound, count) into empty stores, one
// after the other and once, in a single goroutine.
func Bulk(n int) measure.Stage {
	return measure.Stage{Name: "bulk", Open: func(dir string) (*measure.Set, error) {
		result := measure.Result{Contest: measure.Contest{
			Name: "bulk-load", Durable: true,
			About: fmt.Sprintf("%s records with three indexes loaded into an empty store, in batches, once", measure.Count(float64(n))),
		}}
		var peaks []string
		for _, l := range libraries() {
			if strings.HasSuffix(l.name, plainForm) {
				continue
			}
			rate, peak, err := l.loadBulk(dir, n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
			result.Entrants = append(result.Entrants, measure.Entrant{Name: l.name})
			result.Rates = append(result.Rates, []float64{rate})
			peaks = append(peaks, fmt.Sprintf("%s %d MB", l.name, peak>>20))
		}
		result.Said = "Peak memory of the process while it loaded, beyond that before: " + strings.Join(peaks, "; ") + "."
		return &measure.Set{Measured: []measure.Result{result}, Close: func() error { return nil }}, nil
	}}
}

// loadBulk loads n users into a new store, which it removes. It returns the rate and the
// memory that was needed at most.
func (l *library) loadBulk(dir string, n int) (rate float64, peak int64, err error) {
	dir = filepath.Join(dir, l.name)
	before, err := measure.ResetPeakMemory()
	if err != nil {
		return 0, 0, err
	}
	store, err := l.open(dir)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, store.Close(), os.RemoveAll(dir)) }()
	var took time.Duration
	for begin := 0; begin < n; begin += bulkChunk {
		chunk := make([]records.User, 0, bulkChunk)
		for i := begin; i < min(begin+bulkChunk, n); i++ {
			chunk = append(chunk, records.Numbered(i))
		}
		start := time.Now()
		if _, err := store.Load(ctx, chunk); err != nil {
			return 0, 0, err
		}
		took += time.Since(start)
	}
	if peak, err = measure.PeakMemory(); err != nil {
		return 0, 0, err
	}
	return float64(n) / took.Seconds(), peak - before, checkCount(n)(store.Count(ctx))
}
