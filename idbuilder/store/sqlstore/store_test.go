// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// TestWindow compares the values from which a reservation is one UPDATE with
// those from which all its numbers fit.
func TestWindow(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-30, 30), rapid.Int64Range(1<<63-30, 1<<63-1), rapid.Int64Range(-1<<63, -1<<63+30))
	count := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 1<<63-1))
	rapid.Check(t, func(rt *rapid.T) {
		r := store.Reservation{Step: number.Filter(func(n int64) bool { return n != 0 }).Draw(rt, "step"), Count: count.Draw(rt, "count"), Bound: number.Draw(rt, "bound")}
		distance, lowest, highest, possible := window(r)
		near := func(n int64) int64 { return n + rapid.Int64Range(-1, 1).Draw(rt, "near") }
		for _, from := range []int64{number.Draw(rt, "from"), near(lowest), near(highest)} {
			if !possible || from < lowest || from > highest {
				to, err := r.Advance(from)
				if possible && err == nil && (store.Range{From: from, To: to}).Steps(r.Step) == r.Count {
					rt.Fatalf("%+v from %d: all fit, and the window is %d to %d", r, from, lowest, highest)
				}
				continue
			}
			if to, err := r.Advance(from); err != nil || to != from+distance {
				rt.Fatalf("%+v from %d: the window moves it to %d, Advance to %d, %v", r, from, from+distance, to, err)
			}
		}
	})
}

// flaky is a server that fails.
type flaky struct {
	Server
	class Class
	fails int // how often
	calls int
}

var errFlaky = errors.New("flaky")

func (f *flaky) Exec(context.Context, string, ...any) (int64, error) {
	if f.calls++; f.calls <= f.fails {
		return 0, errFlaky
	}
	return 1, nil
}

// Query finds no row.
func (f *flaky) Query(context.Context, func(func(...any) error) error, string, ...any) error {
	return nil
}

func (f *flaky) Classify(err error) Class {
	if errors.Is(err, errFlaky) {
		return f.class
	}
	return Other
}

func (f *flaky) Reset() {}

// TestRetry checks which calls are repeated after an error, and how other errors are reported.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name         string
		class        Class
		fails, calls int
		want         error
	}{
		{"transient", Transient, 5, 6, nil},
		{"transient for ever", Transient, 1000, attempts + 1, errFlaky},
		{"read-only", ReadOnly, 1, 1, store.ErrReadOnly},
		{"no table", NoTable, 1, 1, store.ErrNoSchema},
		{"other", Other, 1, 1, errFlaky},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &flaky{class: c.class, fails: c.fails}
				err := New(server, Dialect{Name: "flaky"}, Limits{Call: time.Hour}).Ping(t.Context())
				if !errors.Is(err, c.want) || server.calls != c.calls {
					t.Errorf("%d calls, %v, want %d, %v", server.calls, err, c.calls, c.want)
				}
			})
		})
	}
}

// TestNames: goroutines get the lock of a name one after the other, and one that gives up
// waiting does not block the others.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n names
		unlock, err := n.lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		go func() { _, err := n.lock(ctx, "a"); results <- err }()
		synctest.Wait()
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("a wait whose context has ended: %v", err)
		}
		go func() {
			unlock, err := n.lock(t.Context(), "a")
			if err == nil {
				unlock()
			}
			results <- err
		}()
		synctest.Wait()
		if len(results) > 0 {
			t.Error("two goroutines have the name")
		}
		unlock()
		if err := <-results; err != nil {
			t.Error(err)
		}
		if len(n.busy) > 0 {
			t.Errorf("%d names are kept", len(n.busy))
		}
	})
}

// TestBounds checks prefixes that end in the middle of a character.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[a-c\x{e0}-\x{ff}\x{7ff}\x{800}\x{d7ff}\x{e000}\x{ffff}\x{10000}\x{10ffff}]{0,4}`)
		prefix, key := text.Draw(rt, "prefix"), text.Draw(rt, "key")
		prefix = prefix[:rapid.IntRange(0, len(prefix)).Draw(rt, "cut")]
		if rapid.Bool().Draw(rt, "extends") {
			prefix = key[:rapid.IntRange(0, len(key)).Draw(rt, "front")]
		}
		first, last, possible := bounds(prefix)
		within := possible && first <= key && key <= last
		if within != strings.HasPrefix(key, prefix) {
			rt.Fatalf("the bounds of %q are %q and %.20q (%v), and the key is %q", prefix, first, last, possible, key)
		}
	})
}
