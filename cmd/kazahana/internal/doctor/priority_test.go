// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/kv"
)

// priorities counts the reading transactions of a database by their priority.
type priorities struct {
	kv.Database
	count map[kv.Priority]int
}

func (p priorities) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return p.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		told := prioritiesTx{tx, new(kv.Priority)}
		err := fn(told)
		p.count[*told.priority]++
		return err
	})
}

type prioritiesTx struct {
	kv.ReadTransaction
	priority *kv.Priority
}

func (t prioritiesTx) SetOptions(o kv.TransactionOptions) error {
	*t.priority = o.Priority
	return t.ReadTransaction.SetOptions(o)
}

// TestPriority: an examination runs at batch priority, unless it is told another.
func TestPriority(t *testing.T) {
	for _, c := range []struct{ told, want kv.Priority }{{0, kv.PriorityBatch}, {kv.PriorityDefault, kv.PriorityDefault}} {
		p := priorities{seeded(t), map[kv.Priority]int{}}
		examine(t, p, doctor.Options{Priority: c.told})
		if len(p.count) != 1 || p.count[c.want] < 8 {
			t.Errorf("told %v: the transactions by priority are %v, want all %v", c.told, p.count, c.want)
		}
	}
}
