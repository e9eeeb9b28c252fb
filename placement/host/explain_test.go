// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// TestExplain asks two members and a client why a key is where it is.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		asleep := c.open(l, host.Options{Name: "z"})
		if _, err := asleep.Explain(placement.Key{Kind: "counter", ID: "id"}); !errors.Is(err, host.ErrNotStarted) {
			t.Errorf("before the start: %v", err)
		}
		nodes := c.start(l, "a", "b")
		client, m := c.client()
		time.Sleep(time.Second) // until all have the topology with both
		key := placement.Key{Kind: "counter", ID: c.ownedBy(nodes[0])}
		epoch, err := m.add.Call(t.Context(), key.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if owner := l.owners[key.ID]; owner != nodes[0].owner(t) {
			t.Errorf("the activation is owned by %v", owner)
		}
		for name, process := range map[string]interface {
			Explain(placement.Key) (placement.Explanation, error)
		}{"a": nodes[0], "b": nodes[1], "client": client} {
			e, err := process.Explain(key)
			if err != nil || e.Decision.Authority != nodes[0].owner(t) || len(e.Candidates) != 2 {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
			if here := name == "a"; here != (e.Active != nil && e.Active.Epoch == epoch) {
				t.Errorf("%s: active %+v", name, e.Active)
			}
		}
		stop(t, nodes...)
		if err := client.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := client.Explain(key); !errors.Is(err, placement.ErrStopped) {
			t.Errorf("after the stop: %v", err)
		}
	})
}
