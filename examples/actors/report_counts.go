// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/examples/internal/process"
)

// reportCounts counts the reports of banks.
type reportCounts struct {
	mu      sync.Mutex
	counts  map[fact]int
	changed chan struct{} // closed by the next event
}

// fact is a report of a bank.
type fact struct{ bank, what string }

// countReports counts events until there are no more.
func (t *reportCounts) countReports(events <-chan process.Event) {
	for e := range events {
		t.mu.Lock()
		t.counts[fact{e.From.Name, e.What}]++
		close(t.changed)
		t.changed = make(chan struct{})
		t.mu.Unlock()
	}
}

// countOf returns how often a bank has reported a fact, and a channel that the next event closes.
func (t *reportCounts) countOf(f fact) (n int, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[f], t.changed
}

// awaitReport waits until a bank has reported a fact.
func (t *reportCounts) awaitReport(ctx context.Context, f fact) error {
	for {
		n, changed := t.countOf(f)
		if n > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s does not tell %q: %w", f.bank, f.what, context.Cause(ctx))
		}
	}
}
