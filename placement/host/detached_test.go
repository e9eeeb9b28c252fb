// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// relay is an actor that calls others, late.
type relay struct {
	ledger *ledger // guards ended
	add    *host.Method[time.Duration, int64]
	ended  *[]error // of what Deactivate calls: another actor, and itself
	self   *host.Method[string, int64]
	key    placement.Key
}

func (r *relay) call(ctx context.Context, id string) (int64, error) {
	time.Sleep(time.Second)
	return r.add.Call(ctx, id, 0)
}

func (r *relay) Deactivate(ctx context.Context) error {
	_, err := r.add.Call(ctx, "called at the end", 0)
	_, cycle := r.self.Call(ctx, r.key.ID, "x")
	r.ledger.do(func() { *r.ended = append(*r.ended, err, cycle) })
	return nil
}

// withRelays registers the kind of relays. Each relay that ends adds its error to ended.
func (n *node) withRelays(t *testing.T, l *ledger) (call *host.Method[string, int64], ended *[]error) {
	t.Helper()
	ended = new([]error)
	kind, err := host.Register(n.Host, "relay", func(_ context.Context, a *host.Activation) (*relay, error) {
		return &relay{ledger: l, add: n.add, ended: ended, self: call, key: a.Key()}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if call, err = host.Handle(kind, "call", (*relay).call); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return call, ended
}

// What still runs while its host stops calls others, wherever they are or are going to be.
func TestHandlersCallWhileTheHostStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		b := c.start(l, "b")[0]
		var events int
		a := c.open(l, host.Options{Name: "a", Events: func(placement.Event) { events++ }})
		call, ended := a.withRelays(t, l)
		time.Sleep(time.Second) // until all know both
		busy := c.ownedBy(a)
		targets := map[string]string{"at the other": c.ownedBy(b), "new": "new one", "handed over": c.ownedBy(a), "busy here": busy}
		go func() { _, _ = a.add.Call(t.Context(), busy, 3*time.Second) }()
		synctest.Wait()
		results := make(chan error, len(targets))
		for name, id := range targets {
			go func() {
				if _, err := call.Call(t.Context(), name, id); err != nil {
					results <- fmt.Errorf("%s: %w", name, err)
					return
				}
				results <- nil
			}()
		}
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(context.Background()) }()
		synctest.Wait()
		if _, err := a.add.Call(t.Context(), targets["at the other"], 0); !errors.Is(err, placement.ErrStopped) {
			t.Errorf("a call that no handler makes: %v", err)
		}
		for range targets {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if err := <-stopped; err != nil {
			t.Errorf("Stop: %v", err)
		}
		for i, err := range *ended {
			if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, host.ErrCycle) {
				t.Errorf("call %d at the end: %v", i, err)
			}
		}
		if len(*ended) != 2*len(targets) || l.counts["called at the end"] != len(targets) {
			t.Errorf("%d calls at the end, %d were handled", len(*ended), l.counts["called at the end"])
		}
		l.check(t)
		stop(t, b)
	})
}

// Where no other member is left, what still runs is told so at once.
func TestHandlersCallWhileTheLastHostStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		a := c.open(l, host.Options{Name: "a"})
		call, _ := a.withRelays(t, l)
		result := make(chan error, 1)
		go func() {
			_, err := call.Call(t.Context(), "r", "x")
			result <- err
		}()
		synctest.Wait()
		began := time.Now()
		stop(t, a)
		if err := <-result; !errors.Is(err, placement.ErrNoMember) || time.Since(began) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
