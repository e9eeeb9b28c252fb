// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/placement"
)

// What arrives while an activation drains is handled once, by the next one.
func TestArrivalsWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		let, handled := make(chan struct{}), make(map[string][]int64)
		s.on("slow", func(context.Context, *actor) error { <-let; return nil })
		for _, name := range []string{"queued", "late"} {
			s.on(name, func(_ context.Context, x *actor) error {
				handled[name] = append(handled[name], x.a.Epoch())
				return nil
			})
		}
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{}, register)
		session.activate(t, "actor", "x", 1)
		slow := callAsync(t.Context(), *method, "x", "slow")
		synctest.Wait()
		queued := callAsync(t.Context(), *method, "x", "queued")
		synctest.Wait()
		ended := make(chan error, 1)
		go func() {
			ended <- session.Deactivate(t.Context(), core.Deactivate{Key: placement.Key{Kind: "actor", ID: "x"}, Epoch: 1, Cause: placement.CauseMove})
		}()
		synctest.Wait()
		late := callAsync(t.Context(), *method, "x", "late")
		synctest.Wait()
		close(let)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if s.ended.Load() != 1 {
			t.Errorf("Deactivate was called %d times", s.ended.Load())
		}
		session.activate(t, "actor", "x", 2)
		if r := <-slow; r.err != nil || r.epoch != 1 {
			t.Error("the call that ran:", r)
		}
		if r := <-queued; r.err != nil || r.epoch != 1 {
			t.Error("the call that waited:", r)
		}
		if r := <-late; r.err != nil || r.epoch != 2 {
			t.Error("the call that came while it drained:", r)
		}
		if len(handled["queued"]) != 1 || len(handled["late"]) != 1 {
			t.Errorf("handled under epochs %v", handled)
		}
	})
}

func TestBusyActivationsAreNotPassivated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.on("long", func(context.Context, *actor) error { time.Sleep(time.Minute); return nil })
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{CallTimeout: -1}, register)
		session.activate(t, "actor", "x", 1)
		idle := func(since time.Time) error {
			return session.Deactivate(t.Context(), core.Deactivate{Key: placement.Key{Kind: "actor", ID: "x"}, Epoch: 1, Cause: placement.CauseIdle, IdleSince: since})
		}
		began := time.Now()
		long := callAsync(t.Context(), *method, "x", "long")
		time.Sleep(30 * time.Second)
		var busy *driver.BusyError
		if err := idle(time.Now()); !errors.As(err, &busy) {
			t.Errorf("it ends while a call runs: %v", err)
		}
		if r := <-long; r.err != nil {
			t.Error(r.err)
		}
		synctest.Wait()
		// The end of a call counts as its use.
		if err := idle(began.Add(59 * time.Second)); !errors.As(err, &busy) || !busy.UsedAt.Equal(began.Add(time.Minute)) {
			t.Errorf("it ends though its call ended later than it was said to be idle: %v", err)
		}
		if r := <-callAsync(t.Context(), *method, "x", ""); r.err != nil || r.epoch != 1 {
			t.Error("after it was refused to end:", r)
		}
		if err := idle(time.Now()); err != nil || s.ended.Load() != 1 {
			t.Errorf("an idle one does not end: %v", err)
		}
		if err := idle(time.Now()); err != nil {
			t.Errorf("one that has ended: %v", err)
		}
	})
}

// An activation that asks for its end gets it once nothing waits, and stays if it is called.
func TestPassivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.on("leave", func(_ context.Context, x *actor) error { x.a.Passivate(); time.Sleep(time.Second); return nil })
		register, method := s.register(t)
		_, session, fake := newFake(t, Options{}, register)
		a := session.activate(t, "actor", "x", 1)
		leaves := callAsync(t.Context(), *method, "x", "leave")
		synctest.Wait()
		queued := callAsync(t.Context(), *method, "x", "")
		synctest.Wait()
		if len(fake.ends()) != 0 {
			t.Error("it ends while its calls run")
		}
		for _, results := range []<-chan result{leaves, queued} {
			if r := <-results; r.err != nil || r.epoch != 1 {
				t.Error(r)
			}
		}
		synctest.Wait()
		if len(fake.ends()) != 1 {
			t.Errorf("the driver was told %d times", len(fake.ends()))
		}
		if r := <-callAsync(t.Context(), *method, "x", ""); r.err != nil {
			t.Error(r.err)
		}
		synctest.Wait()
		if len(fake.ends()) != 1 {
			t.Error("it ends though it was asked before the last call")
		}
		a.Passivate()
		if len(fake.ends()) != 2 {
			t.Error("one that is idle does not end at once")
		}
	})
}

func TestHandlersThatNeverReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		let := make(chan struct{})
		var cause error
		s.on("stuck", func(ctx context.Context, _ *actor) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			<-let // it does not care
			return nil
		})
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{DeactivateTimeout: 5 * time.Second}, register)
		a := session.activate(t, "actor", "x", 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stuck, queued := callAsync(ctx, *method, "x", "stuck"), (<-chan result)(nil)
		synctest.Wait()
		queued = callAsync(ctx, *method, "x", "")
		synctest.Wait()
		began := time.Now()
		err := session.Deactivate(t.Context(), core.Deactivate{Key: a.Key(), Epoch: 1, Cause: placement.CauseMove})
		if took := time.Since(began); err == nil || took != 6*time.Second {
			t.Errorf("its end takes %v: %v", took, err)
		}
		synctest.Wait()
		if !errors.Is(cause, ErrDeactivated) || !errors.Is(context.Cause(a.Context()), ErrDeactivated) {
			t.Errorf("its context ended with %v, the activation's with %v", cause, context.Cause(a.Context()))
		}
		session.activate(t, "actor", "x", 2)
		if r := <-queued; r.err != nil || r.epoch != 2 {
			t.Error("the call that was queued after it:", r)
		}
		if s.ended.Load() != 0 {
			t.Error("Deactivate was called while a handler runs")
		}
		if r := <-stuck; !errors.Is(r.err, ErrOutcomeUnknown) || !errors.Is(r.err, context.DeadlineExceeded) {
			t.Error("the call that is stuck:", r.err)
		}
		close(let)
		synctest.Wait()
		if s.ended.Load() != 1 {
			t.Error("Deactivate was not called after the handler has returned")
		}
		if session.kinds["actor"].find("x", 2) == nil {
			t.Error("the late end has removed the next activation")
		}
	})
}

// TestFenceTellsOfLoss: an activation ends where its own fence is not in force any more, even if a
// timer finds that, or the handler keeps the error to itself. The lost fence of another activation,
// which a handler has called, ends only that one.
func TestFenceTellsOfLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.on("write", func(ctx context.Context, x *actor) error { return x.a.Fence().Check(ctx, nil) })
		s.on("quiet", func(ctx context.Context, x *actor) error { _ = x.a.Fence().Check(ctx, nil); return nil })
		s.on("timer", func(_ context.Context, x *actor) error {
			x.a.After(time.Second, func(ctx context.Context) { _ = x.a.Fence().Check(ctx, nil) })
			return nil
		})
		register, method := s.register(t)
		s.on("other", func(ctx context.Context, _ *actor) error {
			_, err := (*method).Call(ctx, "y", "write")
			return err
		})
		_, session, fake := newFake(t, Options{}, register)
		session.activate(t, "actor", "x", 7)
		session.activate(t, "actor", "y", 8)
		for i, c := range []struct {
			id, do string
			lost   []int64
			err    error
		}{
			{"x", "write", []int64{7}, placement.ErrActivationLost},
			{"x", "quiet", []int64{7}, nil},
			{"x", "timer", []int64{7}, nil},
			{"x", "other", []int64{8}, placement.ErrActivationLost},
		} {
			fake.lost = nil
			if _, err := (*method).Call(t.Context(), c.id, c.do); !errors.Is(err, c.err) {
				t.Errorf("%d: %s returned %v", i, c.do, err)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if !slices.Equal(fake.lost, c.lost) {
				t.Errorf("%d: %s: the epochs %v are lost, want %v", i, c.do, fake.lost, c.lost)
			}
		}
	})
}

// When the membership ends, so do the contexts, with a cause, and the calls
// that have not begun go elsewhere.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		causes := make(chan error, 1)
		s.on("wait", func(ctx context.Context, _ *actor) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		})
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{}, register)
		a := session.activate(t, "actor", "x", 1)
		asked := a.Context()
		running := callAsync(t.Context(), *method, "x", "wait")
		synctest.Wait()
		queued := callAsync(t.Context(), *method, "x", "")
		synctest.Wait()
		if err := session.Deactivate(t.Context(), core.Deactivate{Key: a.Key(), Epoch: 1, Cause: placement.CauseLost}); err != nil {
			t.Error(err)
		}
		for _, cause := range []error{<-causes, context.Cause(asked), context.Cause(a.Context())} {
			if !errors.Is(cause, placement.ErrActivationLost) {
				t.Errorf("a context ended with %v", cause)
			}
		}
		if r := <-running; r.err == nil {
			t.Error("the call that ran was told of a result")
		}
		session.activate(t, "actor", "x", 2)
		if r := <-queued; r.err != nil || r.epoch != 2 {
			t.Error("the call that waited:", r)
		}
	})
}
