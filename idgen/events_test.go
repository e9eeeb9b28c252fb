// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogOfFallbackAndClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		k := newSteppedClock()
		g := newGrantor(k.now)
		c, end := managed(t, g, Options{ServiceID: "orders", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		Must(c.Next(t.Context()))
		g.set(func() { g.down = errDown })
		for range 25 {
			time.Sleep(time.Minute)
			Must(c.Next(t.Context()))
		}
		g.set(func() { g.down = nil })
		time.Sleep(2 * time.Minute)
		Must(c.Next(t.Context()))
		k.step(-time.Second)
		Must(c.Next(t.Context()))
		end()
		var events []string
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "service=orders") {
				t.Errorf("line %q does not name the service", line)
			}
			if strings.Contains(line, "acquiring a lease failed") {
				continue
			}
			_, rest, _ := strings.Cut(line, `msg="idgen: `)
			text, _, _ := strings.Cut(rest, `"`)
			events = append(events, text)
		}
		want := []string{"no valid lease, making fallback IDs", "no valid lease, making fallback IDs", "fallback ended, IDs are leased again", "the clock was set back"}
		if !slices.Equal(events, want) {
			t.Errorf("events %q, want %q", events, want)
		}
	})
}

// TestLogNamesTheCauseOfFallback: a fallback that begins before any try to lease has failed
// is logged with a cause, too.
func TestLogNamesTheCauseOfFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := newGrantor(newSteppedClock().now)
		g.hang = true
		c, end := managed(t, g, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		Must(c.Next(ctx))
		if !strings.Contains(log.String(), `cause="the provider has not granted the first lease`) {
			t.Errorf("the log does not tell why there are fallback IDs: %s", log.String())
		}
	})
}

// callingBack is a logger that asks for an ID for each line, as one does that
// numbers its lines.
type callingBack struct {
	slog.Handler
	next func()
}

func (h callingBack) Enabled(context.Context, slog.Level) bool { return true }

func (h callingBack) Handle(context.Context, slog.Record) error {
	h.next()
	return nil
}

func TestLoggerMayAskForIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		var c *Client
		var lines atomic.Int64
		c, end := managed(t, g, Options{Logger: slog.New(callingBack{slog.DiscardHandler, func() { lines.Add(1); _, _ = c.Next(ended) }})})
		defer end()
		Must(c.Next(t.Context()))
		g.set(func() { g.down = errDown })
		for range 25 {
			time.Sleep(time.Minute)
			Must(c.Next(t.Context()))
		}
		if lines.Load() == 0 {
			t.Error("nothing was logged")
		}
	})
}

// watcher observes clients.
type watcher struct {
	read      func() Metrics
	forgotten int
}

func (w *watcher) Observe(read func() Metrics) func() {
	w.read = read
	return func() { w.forgotten++ }
}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		w := &watcher{}
		c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet, Observe: w.Observe, ServiceID: "orders"}))
		made := map[mode]int64{}
		last := Metrics{}
		take := func(m mode, n int) {
			for range n {
				Must(c.NextN(t.Context(), make([]ID, 10)))
				made[m] += 10
				time.Sleep(time.Millisecond)
			}
			got := w.read()
			if got.ServiceID != "orders" || got.LeasedIDs != made[leased] || got.CachedFallbackIDs != made[continued] || got.RandomFallbackIDs != made[random] ||
				got.IDs() != made[leased]+made[continued]+made[random] {
				t.Errorf("metrics %+v, want %v", got, made)
			}
			last = got
		}
		take(leased, 100)
		g.set(func() { g.down = errDown })
		time.Sleep(11 * time.Minute)
		take(continued, 50)
		if last.ActiveLeases != 0 || last.AcquireFailures == 0 {
			t.Errorf("metrics %+v in an outage", last)
		}
		time.Sleep(11 * time.Minute)
		take(random, 20)
		g.set(func() { g.down = nil })
		time.Sleep(2 * time.Minute)
		take(leased, 30)
		k.step(-time.Second)
		take(leased, 30)
		if last.ClockBackward != 1 || last.ActiveLeases != 1 || last.Throughput != 256 || last.Acquires != 2 {
			t.Errorf("metrics %+v", last)
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := w.read(); got.LeasedIDs != made[leased] || w.forgotten != 1 {
			t.Errorf("after Shutdown: metrics %+v, forgotten %d times", got, w.forgotten)
		}
	})
}
