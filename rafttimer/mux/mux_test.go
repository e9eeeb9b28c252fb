// SPDX-License-Identifier: Apache-2.0

package mux_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
	"github.com/kazahana-db/kazahana/rafttimer/mux"
)

// TestRoles takes 100 groups through the roles of a life, each by its own clock.
func TestRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type replica struct{ elections, beats atomic.Int64 }
		m, err := mux.New(t.Context(), func(g *mux.Group[*replica], e rafttimer.Event) {
			switch r := g.Value(); {
			case e.Kind == rafttimer.Heartbeat:
				r.beats.Add(1)
			case g.Role() == rafttimer.Follower:
				r.elections.Add(1)
				g.BecomeCandidate()
			default:
				r.elections.Add(1)
				g.BecomeLeader()
			}
		}, mux.Options{Shards: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var groups []*mux.Group[*replica]
		for range 100 {
			g, err := m.NewGroup(&replica{})
			if err != nil {
				t.Fatal(err)
			}
			g.BecomeFollower()
			groups = append(groups, g)
		}
		for range 100 {
			time.Sleep(99 * time.Millisecond)
			at := m.Now()
			for _, g := range groups {
				g.ContactAt(at)
			}
		}
		synctest.Wait()
		for i, g := range groups {
			if n := g.Value().elections.Load(); n != 0 || g.Role() != rafttimer.Follower {
				t.Fatalf("group %d: %d elections in spite of contacts; it is a %v", i, n, g.Role())
			}
		}
		time.Sleep(700 * time.Millisecond)
		synctest.Wait()
		before := make([]int64, len(groups))
		for i, g := range groups {
			before[i] = g.Value().beats.Load()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i, g := range groups {
			if r := g.Value(); r.elections.Load() != 2 || g.Role() != rafttimer.Leader || r.beats.Load()-before[i] != 200 {
				t.Errorf("group %d: %d elections, %d beats in 10 s, it is a %v", i, r.elections.Load(), r.beats.Load()-before[i], g.Role())
			}
		}
	})
}
