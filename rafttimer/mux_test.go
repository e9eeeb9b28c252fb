// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// newMux returns a Mux that the end of the test closes.
func newMux[T any](t testing.TB, handler func(*rafttimer.Group[T], rafttimer.Event), o rafttimer.MuxOptions) *rafttimer.Mux[T] {
	t.Helper()
	m, err := rafttimer.NewMux(t.Context(), handler, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func newGroup[T any](t testing.TB, m *rafttimer.Mux[T], value T) *rafttimer.Group[T] {
	t.Helper()
	g, err := m.NewGroup(value)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestRoles takes 100 groups through the roles of a life, each by its own clock.
func TestRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type replica struct{ elections, beats atomic.Int64 }
		m, err := rafttimer.NewMux(t.Context(), func(g *rafttimer.Group[*replica], e rafttimer.Event) {
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
		}, rafttimer.MuxOptions{Shards: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var groups []*rafttimer.Group[*replica]
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

func TestOptions(t *testing.T) {
	if err := (rafttimer.MuxOptions{}).Validate(); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		options rafttimer.MuxOptions
		fields  []string
	}{
		{rafttimer.MuxOptions{Shards: -1, Resolution: -1}, []string{"Shards", "Resolution"}},
		{rafttimer.MuxOptions{Shards: rafttimer.MaxShards + 1, Resolution: 51 * ms}, []string{"Shards", "Resolution"}},
		{rafttimer.MuxOptions{Config: rafttimer.Config{ElectionTimeoutMin: -1, ElectionTimeoutMax: time.Second}, Shards: -1}, []string{"ElectionTimeoutMin", "Shards"}},
	} {
		err := test.options.Validate()
		found := map[string]bool{}
		for _, err := range flatten(err) {
			_, text, _ := strings.Cut(err.Error(), ": ")
			if field, _, ok := strings.Cut(text, " is "); ok {
				found[field] = true
			}
		}
		for _, field := range test.fields {
			if !found[field] {
				t.Errorf("no fault of %s: %v", field, err)
			}
		}
		if _, err := rafttimer.NewMux(t.Context(), func(*rafttimer.Group[int], rafttimer.Event) {}, test.options); err == nil {
			t.Errorf("New accepts %+v", test.options)
		}
	}
}

// flatten returns the errors that a joined one holds.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, flatten(err)...)
	}
	return all
}
