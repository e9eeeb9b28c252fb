// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// ledger is what the actors of a test share: what they have done, by id.
type ledger struct {
	mu     sync.Mutex
	counts map[string]int
	active map[string]int // activations at once
	owners map[string]placement.Owner
	opened int
	faults []error
}

func newLedger() *ledger {
	return &ledger{counts: make(map[string]int), active: make(map[string]int), owners: make(map[string]placement.Owner)}
}

func (l *ledger) do(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.do(func() {
		for _, err := range l.faults {
			t.Error(err)
		}
	})
}

// counter is the actor of the tests.
type counter struct {
	ledger *ledger
	a      *host.Activation
}

func (l *ledger) open(_ context.Context, a *host.Activation) (*counter, error) {
	l.do(func() {
		id := a.Key().ID
		l.opened++
		l.owners[id] = a.Owner()
		if l.active[id]++; l.active[id] > 1 {
			l.faults = append(l.faults, fmt.Errorf("%s has %d activations", id, l.active[id]))
		}
	})
	return &counter{l, a}, nil
}

func (c *counter) Deactivate(context.Context) error {
	c.ledger.do(func() { c.ledger.active[c.a.Key().ID]-- })
	return nil
}

// add counts a call, which takes a while, and returns the epoch.
func (c *counter) add(ctx context.Context, takes time.Duration) (int64, error) {
	time.Sleep(takes)
	c.ledger.do(func() { c.ledger.counts[c.a.Key().ID]++ })
	return c.a.Epoch(), nil
}

// hang waits for the end of its context, and longer if asked to.
func (c *counter) hang(ctx context.Context, longer time.Duration) (string, error) {
	c.ledger.do(func() { c.ledger.counts[c.a.Key().ID]++ })
	<-ctx.Done()
	time.Sleep(longer)
	return "", context.Cause(ctx)
}
