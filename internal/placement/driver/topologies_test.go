// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// versions returns the versions of the topologies that came into force.
func (j *journal) versions() []int64 {
	var versions []int64
	for _, e := range j.all() {
		if e.Kind == placement.TopologyChanged {
			versions = append(versions, e.Topology)
		}
	}
	return versions
}

// TestTopologiesCoalesce: the first topology comes into force at once, then the newest of many
// that follow, and after a quiet time the next one at once again.
func TestTopologiesCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		m := newMember(t, "a", newHome(t, memory.Options{}), &executor{}, driver.Options{Events: j.record}, core.Options{})
		inForce := func(want ...int64) {
			t.Helper()
			synctest.Wait()
			if got := j.versions(); !slices.Equal(got, want) {
				t.Errorf("in force were %v, want %v", got, want)
			}
		}
		update := func(version int64) {
			t.Helper()
			if err := m.UpdateTopology(topology(version, m)); err != nil {
				t.Error(err)
			}
		}
		start(t, 1, m)
		inForce(1)
		for version := int64(2); version <= 100; version++ {
			update(version)
		}
		update(50) // older than one that waits
		time.Sleep(99 * time.Millisecond)
		inForce(1)
		time.Sleep(time.Millisecond)
		inForce(1, 100)
		update(101)
		inForce(1, 100)
		time.Sleep(100 * time.Millisecond)
		inForce(1, 100, 101)
		time.Sleep(100 * time.Millisecond)
		update(102)
		inForce(1, 100, 101, 102)
		update(103)
		stop(t, m) // which drops the waiting one
		time.Sleep(time.Second)
		inForce(1, 100, 101, 102)
	})
}

// TestTopologiesRefused: faults of a topology are reported at once, also of one that would wait,
// and an older topology changes nothing.
func TestTopologiesRefused(t *testing.T) {
	for _, coalesce := range []time.Duration{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			var j journal
			m := newMember(t, "a", newHome(t, memory.Options{}), &executor{}, driver.Options{Coalesce: coalesce, Events: j.record}, core.Options{})
			start(t, 5, m)
			faulty := topology(6, m, m)
			if err := m.UpdateTopology(faulty); err == nil || errors.Is(err, placement.ErrStaleTopology) || !strings.Contains(err.Error(), `topology 6: members 0 and 1 are both called "a"`) {
				t.Errorf("two members of one name: got %v", err)
			}
			if coalesce == 0 {
				time.Sleep(time.Second)
			}
			if err := m.UpdateTopology(topology(4, m)); !errors.Is(err, placement.ErrStaleTopology) {
				t.Errorf("an older one: got %v", err)
			}
			if err := m.UpdateTopology(topology(5, m)); err != nil {
				t.Errorf("the same: got %v", err)
			}
			if s := m.Snapshot(); s.Topology != 5 || s.State != placement.StateMember {
				t.Errorf("got %+v", s)
			}
			stop(t, m)
			synctest.Wait()
			if got := j.count(placement.TopologyRefused); got != 2 {
				t.Errorf("%d refusals were told, want 2", got)
			}
		})
	}
}

// TestMoves checks that after a change of the topology a few activations move with
// each tick, others when they are used, and those of the member that stays do not.
func TestMoves(t *testing.T) {
	for _, perTick := range []int{0, 3} {
		t.Run(fmt.Sprint(perTick), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const keys = 40
				h := newHome(t, memory.Options{})
				a := newMember(t, "a", h, &executor{}, driver.Options{}, core.Options{MovesPerTick: perTick})
				b := newMember(t, "b", h, &executor{}, driver.Options{}, core.Options{MovesPerTick: perTick})
				start(t, 1, a)
				for i := range keys {
					resolve(t, a, keyOf(fmt.Sprint(i)))
				}
				time.Sleep(time.Second)
				start(t, 2, b)
				both := topology(3, a, b)
				for _, m := range []*member{a, b} {
					time.Sleep(time.Second)
					if err := m.UpdateTopology(both); err != nil {
						t.Fatal(err)
					}
				}
				checkMoves(t, a, b, perTick, keys)
				stop(t, a, b)
			})
		})
	}
}

// checkMoves checks how many activations of a move to b by ticks, and by use.
func checkMoves(t *testing.T, a, b *member, perTick, keys int) {
	t.Helper()
	left := keys
	for range 30 {
		a.Tick(time.Now())
		synctest.Wait()
		now, _ := a.countActivations()
		if moved := left - now; moved > perTick {
			t.Errorf("%d activations moved in a tick", moved)
		}
		left = now
	}
	if perTick == 0 && left != keys || perTick > 0 && (left == keys || left == 0) {
		t.Errorf("%d of %d activations are left", left, keys)
	}
	atB := 0
	for i := range keys {
		r := resolve(t, a, keyOf(fmt.Sprint(i)))
		if r.Locality == core.Remote {
			if at := resolve(t, b, keyOf(fmt.Sprint(i))); at.Locality != core.Local || at.Epoch == 0 {
				t.Errorf("%d: got %+v", i, at)
			}
			atB++
		}
	}
	active, _ := b.countActivations()
	here, _ := a.countActivations()
	if atB == 0 || active != atB || here != keys-atB || perTick > 0 && here != left {
		t.Errorf("%d keys moved; %d are active there, %d here, of which %d stayed", atB, active, here, left)
	}
}
