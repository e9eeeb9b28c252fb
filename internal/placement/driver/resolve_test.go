// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// modes are the two kinds of homes.
var modes = map[string]memory.Options{"five commands": {}, "claim is the row": {Kept: true}}

// TestResolve: many resolves at once make one activation, which all of them get and which is
// handed back.
func TestResolve(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t, options)
				m := alone(t, h, &executor{}, driver.Options{}, core.Options{})
				const resolves = 100
				epochs := make([]int64, resolves)
				var wait sync.WaitGroup
				for i := range resolves {
					wait.Go(func() {
						r := resolve(t, m, keyOf("1"))
						epochs[i] = r.Epoch
						if r.Locality != core.Local || r.Owner != m.self.Owner || r.PID == "" {
							t.Errorf("got %+v", r)
						}
					})
				}
				wait.Wait()
				if active, made := m.countActivations(); active != 1 || made != 1 {
					t.Errorf("%d activations were made, %d are active", made, active)
				}
				for _, epoch := range epochs {
					if epoch != epochs[0] || epoch == 0 {
						t.Errorf("epochs %d and %d", epoch, epochs[0])
					}
				}
				stop(t, m)
				if h.Len() != 0 {
					t.Errorf("the home has %d rows after Stop", h.Len())
				}
				if _, err := m.Resolve(t.Context(), keyOf("1")); !errors.Is(err, placement.ErrStopped) {
					t.Errorf("after Stop: got %v", err)
				}
			})
		})
	}
}

// TestMembersAgree: all members resolve a key to the same member, which has it active.
func TestMembersAgree(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t, options)
				var members []*member
				for i := range 3 {
					members = append(members, newMember(t, fmt.Sprintf("m%d", i), h, &executor{}, driver.Options{}, core.Options{}))
				}
				start(t, 1, members...)
				for i := range 50 {
					key := keyOf(fmt.Sprint(i))
					local := 0
					owners := map[placement.Owner]bool{}
					for _, m := range members {
						r := resolve(t, m, key)
						owners[r.Owner] = true
						if r.Locality == core.Local {
							local++
						}
					}
					if local != 1 || len(owners) != 1 {
						t.Errorf("%s is local at %d members, with the owners %v", key, local, owners)
					}
				}
				stop(t, members...)
			})
		})
	}
}

// TestResolveEnds checks the errors of resolves that cannot succeed.
func TestResolveEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t, "a", newHome(t, memory.Options{}), &executor{}, driver.Options{}, core.Options{})
		check := func(what string, err error, targets ...error) {
			t.Helper()
			for _, target := range targets {
				if !errors.Is(err, target) {
					t.Errorf("%s: got %v, want %v", what, err, target)
				}
			}
		}
		_, err := m.Resolve(t.Context(), keyOf("1"))
		check("not started", err, placement.ErrStopped)
		if err := m.StartMember([]string{kind}); err != nil {
			t.Fatal(err)
		}
		boom := errors.New("boom")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, boom)
		defer cancel()
		began := time.Now()
		_, err = m.Resolve(ctx, keyOf("1"))
		check("no topology", err, boom, placement.ErrNotReady)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		_, err = m.Resolve(ctx, keyOf("1"))
		check("an ended context", err, boom)
		if err := m.UpdateTopology(topology(1, m)); err != nil {
			t.Fatal(err)
		}
		_, err = m.Resolve(t.Context(), placement.Key{Kind: "other", ID: "1"})
		check("no member of the kind", err, placement.ErrNoMember)
		_, err = m.Resolve(t.Context(), placement.Key{Kind: kind})
		check("an invalid key", err, placement.ErrInvalidKey)
		stop(t, m)
	})
}

// TestResolveWaitsForTopology: a resolve before the first topology is answered as soon as the
// topology comes, not only at the next attempt.
func TestResolveWaitsForTopology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := driver.Options{Backoff: driver.Backoff{First: time.Hour, Max: time.Hour}}
		m := newMember(t, "a", newHome(t, memory.Options{}), &executor{}, o, core.Options{})
		if err := m.StartMember([]string{kind}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var wait sync.WaitGroup
		wait.Go(func() { resolve(t, m, keyOf("1")) })
		time.Sleep(time.Second)
		if err := m.UpdateTopology(topology(1, m)); err != nil {
			t.Error(err)
		}
		wait.Wait()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		stop(t, m)
	})
}

// TestResolveForwarded: a member has moved a key away and sends its calls to the member that
// the key belongs to now, which still takes the first for the holder. In the second case three
// members would send a call in a circle. By the rules of the package's page the call arrives.
func TestResolveForwarded(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				members, key := staleMembers(t, n)
				for i := range 3 * n { // by Resolve alone, the call would go on like this
					m, next := members[(i+n-1)%n], members[i%n]
					if r := resolve(t, m, key); r.Owner != next.self.Owner || r.Locality != core.Remote {
						t.Fatalf("%v sends the call to %v, want %v", m.self.Owner, r.Owner, next.self.Owner)
					}
				}
				synctest.Wait()
				attempts, longest := callUntilHandled(t, members, members[n-1], key)
				if attempts != n-1 || longest != n-1 {
					t.Errorf("it took %d attempts, sent on %d times at most", attempts, longest)
				}
				for _, m := range members {
					if attempts, longest := callUntilHandled(t, members, m, key); attempts != 1 || longest > 1 {
						t.Errorf("later, from %v: it took %d attempts, sent on %d times", m.self.Owner, attempts, longest)
					}
				}
				stop(t, members...)
			})
		})
	}
}

// callUntilHandled calls the key from a member until the first member has handled it.
func callUntilHandled(t *testing.T, members []*member, from *member, key placement.Key) (attempts, longest int) {
	t.Helper()
	for attempts = 1; attempts < 10; attempts++ {
		c := &call{t: t, members: members, key: key}
		handled := c.arrive(from, placement.Holder{})
		longest = max(longest, len(c.through))
		if handled {
			return attempts, longest
		}
		synctest.Wait()
	}
	t.Fatal("the call is refused again and again")
	return attempts, longest
}

// call is an attempt of a call, as a program's transport has it.
type call struct {
	t       *testing.T
	members []*member
	key     placement.Key
	through []placement.Owner
}

// arrive handles the call at a member, or sends it on, and reports whether it was handled.
func (c *call) arrive(m *member, to placement.Holder) bool {
	r, err := m.ResolveForwarded(c.t.Context(), c.key, c.through...)
	if err != nil {
		c.t.Fatal(err)
	}
	if r.Locality == core.Local {
		return m == c.members[0]
	}
	if to.Epoch > 0 {
		m.Forget(c.key, to)
	}
	if slices.Contains(c.through, r.Owner) {
		return false
	}
	c.through = append(c.through, m.self.Owner)
	next := c.members[slices.IndexFunc(c.members, func(m *member) bool { return m.self.Owner == r.Owner })]
	to = placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch}
	handled := c.arrive(next, to)
	if !handled {
		m.Forget(c.key, to)
	}
	return handled
}

// staleMembers returns n members and a key that belongs to the first and is active nowhere.
// Each but the last takes the next for its holder, since the key was active there.
func staleMembers(t *testing.T, n int) ([]*member, placement.Key) {
	t.Helper()
	h := newHome(t, memory.Options{})
	var members []*member
	for i := range n {
		m := newMember(t, fmt.Sprintf("m%d", i), h, &executor{}, driver.Options{Coalesce: -1}, core.Options{})
		if err := m.StartMember([]string{kind}); err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	only := func(version int64, has *member) { // it alone activates the kind
		top := topology(version, members...)
		for i := range top.Members {
			if top.Members[i].Owner != has.self.Owner {
				top.Members[i].Kinds = nil
			}
		}
		for _, m := range members {
			if err := m.UpdateTopology(top); err != nil {
				t.Fatal(err)
			}
		}
	}
	key := keyOf("1")
	for i, m := range members[1:] {
		only(int64(i+1), m)
		resolve(t, members[i], key) // moves it
		synctest.Wait()
		r := resolve(t, m, key)
		members[i].Learn(key, placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch})
	}
	only(int64(n), members[0])
	return members, key
}

// fragile is a strategy that panics as long as the test says so.
type fragile struct {
	placement.Rendezvous
	broken *atomic.Bool
}

func (f fragile) Choose(key placement.Key, c placement.Candidates) int {
	if f.broken.Load() && key.ID != "sound" {
		panic("out of order")
	}
	return f.Rendezvous.Choose(key, c)
}

func (f fragile) Score(placement.Key, placement.Candidates, int) uint64 { panic("out of order") }

// TestStrategyPanics: a resolve of a key that the strategy panics for fails with the panic, and the
// member serves other keys, keeps what is active, explains, and stops.
func TestStrategyPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		m := alone(t, newHome(t, memory.Options{}), &executor{}, driver.Options{}, core.Options{Strategy: fragile{broken: &broken}})
		before := resolve(t, m, keyOf("1"))
		broken.Store(true)
		_, err := m.Resolve(t.Context(), keyOf("2"))
		if !errors.Is(err, placement.ErrNoMember) || !strings.Contains(err.Error(), "out of order") || !strings.Contains(err.Error(), "fragile") {
			t.Errorf("a resolve for which the strategy panics: got %v, want the panic and its stack", err)
		}
		if e := m.Explain(keyOf("2")); !errors.Is(e.Err, placement.ErrNoMember) {
			t.Errorf("Explain: got %v", e.Err)
		}
		if err := m.UpdateTopology(topology(2, m)); err != nil {
			t.Fatal(err)
		}
		m.Tick(time.Now())
		if again := resolve(t, m, keyOf("1")); again.Epoch != before.Epoch {
			t.Errorf("what was active has epoch %d, had %d", again.Epoch, before.Epoch)
		}
		resolve(t, m, keyOf("sound"))
		broken.Store(false)
		resolve(t, m, keyOf("2"))
		stop(t, m)
	})
}

// TestNowPanics: a panic of Options.Now is the caller's, and leaves the driver unlocked.
func TestNowPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		m := alone(t, newHome(t, memory.Options{}), &executor{}, driver.Options{Now: func() time.Time {
			if broken.Load() {
				panic("no clock")
			}
			return time.Now()
		}}, core.Options{})
		broken.Store(true)
		for name, call := range map[string]func(){
			"Resolve":      func() { _, _ = m.Resolve(t.Context(), keyOf("1")) },
			"Use":          func() { m.Use(keyOf("1"), 1) },
			"Explain":      func() { m.Explain(keyOf("1")) },
			"OnMemberLeft": func() { m.OnMemberLeft(placement.Owner{Name: "b"}) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				call()
			}()
		}
		broken.Store(false)
		resolve(t, m, keyOf("1"))
		stop(t, m)
	})
}
