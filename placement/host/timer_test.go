// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		began := time.Now()
		var once, every []time.Duration
		inCall := false
		s.on("start", func(ctx context.Context, x *actor) error {
			x.a.After(time.Second, func(ctx context.Context) { once = append(once, time.Since(began)) })
			tick := x.a.Every(10*time.Second, func(context.Context) {
				if inCall {
					t.Error("a timer runs during a call")
				}
				time.Sleep(time.Second)
				every = append(every, time.Since(began))
			})
			x.a.After(40*time.Second, func(context.Context) { tick.Stop() })
			return nil
		})
		s.on("busy", func(context.Context, *actor) error {
			inCall = true
			time.Sleep(5 * time.Second)
			inCall = false
			return nil
		})
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{}, register)
		a := session.activate(t, "actor", "x", 1)
		if _, err := (*method).Call(t.Context(), "x", "start"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second)
		if _, err := (*method).Call(t.Context(), "x", "busy"); err != nil { // until 13 s
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		seconds := func(times []time.Duration) (s []int) {
			for _, d := range times {
				s = append(s, int(d/time.Second))
			}
			return s
		}
		if got := seconds(once); len(got) != 1 || got[0] != 1 {
			t.Errorf("After ran at %v", got)
		}
		if got := seconds(every); len(got) != 3 || got[0] != 14 || got[1] != 25 || got[2] != 36 {
			t.Errorf("Every ended at %v", got)
		}
		// Timers do not count as use: an activation with nothing else is idle.
		a.Every(time.Second, func(context.Context) {})
		time.Sleep(time.Minute + time.Second/2)
		idle := core.Deactivate{Key: a.Key(), Epoch: 1, Cause: placement.CauseIdle, IdleSince: time.Now().Add(-time.Minute)}
		if err := session.Deactivate(t.Context(), idle); err != nil {
			t.Errorf("timers keep it from its end: %v", err)
		}
		if timer := a.After(0, func(context.Context) { t.Error("a timer of what has ended runs") }); !timer.stopped {
			t.Error("a timer after the end")
		}
		time.Sleep(time.Minute)
	})
}

func TestTimersPanic(t *testing.T) {
	t.Run("EndOnPanic", func(t *testing.T) { testTimersPanic(t, "ouch", EndOnPanic) })
	t.Run("an unknown outcome", func(t *testing.T) { testTimersPanic(t, kv.ErrOutcomeUnknown) })
}

// testTimersPanic has a timer panic with a value that ends the activation.
func testTimersPanic(t *testing.T, value any, options ...Option) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		register, _ := s.register(t, options...)
		_, session, fake := newFake(t, Options{}, register)
		a := session.activate(t, "actor", "x", 1)
		runs := 0
		a.Every(time.Second, func(context.Context) { runs++; panic(value) })
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if runs != 1 || len(fake.ends()) != 1 || s.ended.Load() != 1 {
			t.Errorf("%d runs, the end was told %d times", runs, len(fake.ends()))
		}
	})
}
