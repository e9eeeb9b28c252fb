// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallsRunOneAtATimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		var order []string
		for _, name := range []string{"a", "b", "c"} {
			s.on(name, func(context.Context, *actor) error {
				time.Sleep(time.Second)
				order = append(order, name)
				return nil
			})
		}
		register, method := s.register(t)
		_, session, fake := newFake(t, Options{}, register)
		session.activate(t, "actor", "x", 1)
		var waiting []<-chan result
		for _, name := range []string{"a", "b", "c"} {
			waiting = append(waiting, callAsync(t.Context(), *method, "x", name))
			synctest.Wait()
		}
		for _, results := range waiting {
			if r := <-results; r.err != nil || r.epoch != 1 {
				t.Error(r)
			}
		}
		if got := strings.Join(order, ""); got != "abc" {
			t.Errorf("they ran in the order %s", got)
		}
		synctest.Wait()
		if fake.used != 3 {
			t.Errorf("%d uses were told at the end of 3 calls", fake.used)
		}
	})
}

func TestManyCallersAtOnce(t *testing.T) {
	s := newScript()
	sum := 0
	s.on("add", func(context.Context, *actor) error { sum++; runtime.Gosched(); return nil })
	register, method := s.register(t)
	_, session, _ := newFake(t, Options{}, register)
	session.activate(t, "actor", "x", 1)
	const callers, each = 16, 200
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range each {
				if _, err := (*method).Call(t.Context(), "x", "add"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if sum != callers*each {
		t.Errorf("%d of %d calls were handled", sum, callers*each)
	}
}

func TestMailboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		let := make(chan struct{})
		s.on("slow", func(context.Context, *actor) error { <-let; return nil })
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{Mailbox: 3}, register)
		session.activate(t, "actor", "x", 1)
		var waiting []<-chan result
		for range 3 {
			waiting = append(waiting, callAsync(t.Context(), *method, "x", "slow"))
		}
		synctest.Wait()
		_, err := (*method).Call(t.Context(), "x", "slow")
		if !errors.Is(err, ErrMailboxFull) || !strings.Contains(err.Error(), "3 calls of actor/x wait") || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("the fourth call: %v", err)
		}
		close(let)
		for _, results := range waiting {
			if r := <-results; r.err != nil {
				t.Error(r.err)
			}
		}
		if _, err := (*method).Call(t.Context(), "x", "slow"); err != nil {
			t.Errorf("once there is room: %v", err)
		}
	})
}

func TestPanics(t *testing.T) {
	for _, step := range []string{"panic", "exit"} {
		for name, endOnPanic := range map[string]bool{"the activation stays": false, "EndOnPanic": true} {
			t.Run(step+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testPanic(t, step, endOnPanic) })
			})
		}
	}
}

func testPanic(t *testing.T, step string, endOnPanic bool) {
	s := newScript()
	s.on("panic", func(context.Context, *actor) error { time.Sleep(time.Second); panic("ouch") })
	s.on("exit", func(context.Context, *actor) error { time.Sleep(time.Second); runtime.Goexit(); return nil })
	var options []Option
	want := int64(1)
	if endOnPanic {
		options, want = append(options, EndOnPanic), 2
	}
	register, method := s.register(t, options...)
	_, session, fake := newFake(t, Options{}, register)
	session.activate(t, "actor", "x", 1)
	panics := callAsync(t.Context(), *method, "x", step)
	synctest.Wait()
	queued := callAsync(t.Context(), *method, "x", "") // must not run on what the panic left
	var fault *panicError
	if r := <-panics; !errors.As(r.err, &fault) || fault.In != "do" || fault.Key.ID != "x" {
		t.Error(r.err)
	}
	synctest.Wait()
	if endOnPanic {
		if len(fake.ends()) == 0 || fake.ends()[0] != 1 || s.ended.Load() != 1 {
			t.Errorf("the driver was told of the ends %v, Deactivate called %d times", fake.ends(), s.ended.Load())
		}
		session.activate(t, "actor", "x", 2)
	}
	if r := <-queued; r.err != nil || r.epoch != want {
		t.Error("the call that waited:", r)
	}
}

func TestCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		var deadline time.Time
		ended := make(chan error, 1)
		s.on("wait", func(ctx context.Context, _ *actor) error {
			deadline, _ = ctx.Deadline()
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		})
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{}, register)
		session.activate(t, "actor", "x", 1)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want, _ := ctx.Deadline()
		if _, err := (*method).Call(ctx, "x", "wait"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at its deadline: %v", err)
		}
		if got := <-ended; !errors.Is(got, context.DeadlineExceeded) || !deadline.Equal(want) {
			t.Errorf("the handler's deadline is %v, the caller's %v; it ended with %v", deadline, want, got)
		}

		ctx, cancel = context.WithCancel(t.Context())
		running := callAsync(ctx, *method, "x", "wait")
		synctest.Wait()
		queued := callAsync(ctx, *method, "x", "wait")
		synctest.Wait()
		cancel()
		if r := <-running; !errors.Is(r.err, ErrOutcomeUnknown) && !errors.Is(r.err, context.Canceled) {
			t.Errorf("a running call that is cancelled: %v", r.err)
		}
		if r := <-queued; errors.Is(r.err, ErrOutcomeUnknown) || !errors.Is(r.err, context.Canceled) {
			t.Errorf("a queued call that is cancelled: %v", r.err)
		}
		if got := <-ended; !errors.Is(got, context.Canceled) {
			t.Errorf("the handler's context ended with %v", got)
		}
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the call that was cancelled in the mailbox was handled")
		default:
		}
	})
}

func TestCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.on("wait", func(ctx context.Context, _ *actor) error { <-ctx.Done(); return ctx.Err() })
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{CallTimeout: time.Minute}, register)
		session.activate(t, "actor", "x", 1)
		began := time.Now()
		if _, err := (*method).Call(t.Context(), "x", "wait"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("a call without a deadline ends after %v: %v", time.Since(began), err)
		}
	})
}

// TestArgumentsOfCallersThatLeft: after its caller has left, a call stays in the mailbox until its turn,
// without its argument.
func TestArgumentsOfCallersThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		let := make(chan struct{})
		s.on("slow", func(context.Context, *actor) error { <-let; return nil })
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{}, register)
		a := session.activate(t, "actor", "x", 1)
		slow := callAsync(t.Context(), *method, "x", "slow")
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		left := callAsync(ctx, *method, "x", "large")
		synctest.Wait()
		queued := a.more.head.work.(*call)
		if len(queued.payload) == 0 {
			t.Fatal("the call that waits has no argument")
		}
		cancel()
		if r := <-left; !errors.Is(r.err, context.Canceled) {
			t.Error(r)
		}
		if queued.payload != nil {
			t.Errorf("its caller has left, and it keeps %d bytes", len(queued.payload))
		}
		close(let)
		if r := <-slow; r.err != nil {
			t.Error(r)
		}
	})
}
