// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// priorities counts the transactions of a database by their priority.
type priorities struct {
	*embedded.Database
	mu    sync.Mutex
	count map[kv.Priority]int
}

func (p *priorities) Begin() (kv.Transaction, error) {
	tx, err := p.Database.Begin()
	p.add(0, 1)
	return prioritiesTx{tx, p}, err
}

func (p *priorities) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return transactIn(ctx, p, fn)
}

func (p *priorities) add(priority kv.Priority, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count[priority] += n
}

type prioritiesTx struct {
	kv.Transaction
	of *priorities
}

func (t prioritiesTx) SetOptions(o kv.TransactionOptions) error {
	t.of.add(0, -1)
	t.of.add(o.Priority, 1)
	return t.Transaction.SetOptions(o)
}

// TestPriority: a move runs at batch priority, unless it is told another, and advances the versions of an
// engine that it wraps.
func TestPriority(t *testing.T) {
	for _, c := range []struct{ told, want kv.Priority }{{0, kv.PriorityBatch}, {kv.PriorityDefault, kv.PriorityDefault}} {
		from := &priorities{Database: openSeeded(t), count: map[kv.Priority]int{}}
		to := &priorities{Database: openEmpty(t), count: map[kv.Priority]int{}}
		result, err := Run(t.Context(), source(from), target(to), Options{Priority: c.told})
		if err != nil || !result.Advanced {
			t.Fatalf("%+v, %v", result, err)
		}
		for name, p := range map[string]*priorities{"source": from, "target": to} {
			other := 0
			for priority, n := range p.count {
				if priority != c.want {
					other += n
				}
			}
			if other != 0 || p.count[c.want] == 0 {
				t.Errorf("told %v: the transactions of the %s by priority are %v, want all %v", c.told, name, p.count, c.want)
			}
		}
	}
}
