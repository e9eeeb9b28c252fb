// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"fmt"
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

// recorder is a server that finds a row for each statement, and remembers the statements.
type recorder struct{ statements []string }

func (r *recorder) Exec(_ context.Context, statement string, args ...any) (int64, error) {
	r.statements = append(r.statements, statement)
	if marks := strings.Count(statement, "?"); marks != len(args) {
		return 0, fmt.Errorf("%d arguments for %d in %s", len(args), marks, statement)
	}
	return 1, nil
}

func (r *recorder) Number(ctx context.Context, statement string, args ...any) (n, rows int64, err error) {
	rows, err = r.Exec(ctx, statement, args...)
	return 1, rows, err
}

// Query finds rows of ones, and no version of a schema.
func (r *recorder) Query(ctx context.Context, row func(func(...any) error) error, statement string, args ...any) error {
	if _, err := r.Exec(ctx, statement, args...); err != nil {
		return err
	}
	return row(func(into ...any) error {
		for _, at := range into {
			switch at := at.(type) {
			case *int64:
				if *at = 1; strings.Contains(statement, "MAX(version)") {
					*at = 0
				}
			case *string:
				*at = "1"
			}
		}
		return nil
	})
}

func (r *recorder) Transact(_ context.Context, fn func(Conn) error) error { return fn(r) }
func (r *recorder) Lock(_ context.Context, fn func(Conn) error) error     { return fn(r) }
func (r *recorder) Check(context.Context) error                           { return nil }
func (r *recorder) Classify(error) Class                                  { return Other }
func (r *recorder) Reset()                                                {}
func (r *recorder) Close() error                                          { return nil }

// TestGuards checks that no call reads or writes tables without the guard: a newer program may migrate between any two
// statements.
func TestGuards(t *testing.T) {
	server := &recorder{}
	s := New(server, Dialect{
		Name: "recorder", Create: "INSERT ? ? ? ? " + Guard, Advance: "UPDATE " + Guard, Reserve: "UPDATE ? ? ? ? " + Guard,
	}, Limits{}.WithDefaults())
	d := store.Document{Key: "a", Value: []byte("{}"), Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	changed := d
	changed.Version = 1
	ctx := t.Context()
	second := func(_ any, err error) error { return err }
	for i, err := range []error{
		s.adoptForeign(ctx), s.sweepExpired(ctx), s.Ping(ctx), second(s.Revision(ctx)), second(s.Advance(ctx)),
		second(s.Reserve(ctx, "a", store.Reservation{Step: 1, Count: 1, Bound: 10})), second(s.reserveByComparing(ctx, "a", store.Reservation{Step: 1, Count: 1, Bound: 10})),
		second(s.Sequence(ctx, "a")), s.SetSequence(ctx, "a", 9, 1), s.SetSequence(ctx, "a", 9, 0), second(s.DeleteSequence(ctx, "a")),
		second(s.List(ctx, store.Workers, store.ListOptions{})), second(s.List(ctx, store.Configs, store.ListOptions{})),
		second(s.Put(ctx, store.Workers, d)), second(s.Put(ctx, store.Configs, d)), second(s.Put(ctx, store.Workers, changed)), second(s.Put(ctx, store.Configs, changed)),
		s.Delete(ctx, store.Workers, "a", 1), s.Delete(ctx, store.Configs, "a", 1),
	} {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	for _, statement := range server.statements {
		if !strings.Contains(statement, Guard) && !strings.Contains(statement, "MAX(version)") {
			t.Errorf("without the guard: %s", statement)
		}
	}
	if len(server.statements) < 30 {
		t.Errorf("%d statements", len(server.statements))
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
			t.Errorf("a wait after its context has ended: %v", err)
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
