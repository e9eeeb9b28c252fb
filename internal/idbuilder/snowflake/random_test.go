// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// client is a client of a random test: it makes IDs of its worker id in [from, until), as the
// grant says, or, if it knows no leases, for Hold from the time of the answer.
type client struct {
	Grant
	from, until time.Time
}

// ledger has the clients so far, by worker id.
type ledger map[int64][]*client

// add adds a client, and reports one that has the same worker id at the same time.
func (l ledger) add(c *client) error {
	l[c.WorkerID] = append(l[c.WorkerID], c)
	return l.check(c)
}

func (l ledger) check(c *client) error {
	for _, other := range l[c.WorkerID] {
		if other != c && c.from.Before(other.until) && other.from.Before(c.until) {
			return fmt.Errorf("two clients have a worker id at once:\n%+v\n%+v", *c, *other)
		}
	}
	return nil
}

// TestRandom: clients of both kinds lease from workers that restart and have wrong, jumping clocks,
// over a store that loses connections.
func TestRandom(t *testing.T) {
	steps := 600
	if testing.Short() {
		steps = 150
	}
	for _, c := range []struct {
		name string
		off  time.Duration // of the clocks, at most
		// deployed says that some clients know no leases: they rely on clocks that
		// agree within the skew.
		deployed bool
	}{{"clocks agree", 30 * time.Second, true}, {"clocks are days off", 50 * time.Hour, false}} {
		t.Run(c.name, func(t *testing.T) {
			w, r := newWorld(t), seed.Rand(t)
			w.faults.set(shaky(r, 0.1))
			off := func() time.Duration { return time.Duration(r.Int64N(int64(2*c.off))) - c.off }
			workers, key, used := make([]*worker, 3), sized(7), ledger{}
			for i := range workers {
				workers[i] = w.newWorker(Options{})
			}
			var alive []*client
			granted, renewed := 0, 0
			for range steps {
				w.now = w.now.Add(time.Duration(r.Int64N(int64(30 * time.Second))))
				x := r.IntN(len(workers))
				switch r.IntN(20) {
				case 0:
					workers[x] = w.newWorker(Options{})
				case 1:
					workers[x].off = off()
				}
				if n := len(alive); n > 0 && r.IntN(3) > 0 {
					one := alive[r.IntN(n)]
					g, err := workers[x].Lease(t.Context(), key, Client{LeaseKey: one.LeaseKey})
					if err == nil && g.Renewed {
						renewed++
						one.until = latest(one.until, g.Expires)
						if err := used.check(one); err != nil {
							t.Fatal(err)
						}
					}
					continue
				}
				deployed := c.deployed && r.IntN(4) == 0
				g, err := workers[x].Lease(t.Context(), key, Client{Renews: !deployed})
				if err != nil {
					if !errors.Is(err, storetest.ErrFault) && !errors.Is(err, ErrExhausted) {
						t.Fatal(err)
					}
					continue
				}
				granted++
				one := &client{Grant: g, from: g.NotBefore, until: g.Expires}
				if deployed {
					one.from, one.until = w.now, w.now.Add(DefaultHold-2*c.off)
				} else if alive = append(alive, one); len(alive) > 20 {
					alive = alive[1:]
				}
				if err := used.add(one); err != nil {
					t.Fatal(err)
				}
			}
			if granted < steps/10 || renewed < steps/10 {
				t.Errorf("only %d leases were granted, %d renewed", granted, renewed)
			}
		})
	}
}
