// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

// actor is a virtual actor whose method does what a test says.
type actor struct {
	a       *Activation
	ended   *atomic.Int32
	running atomic.Int32
}

func (x *actor) Deactivate(ctx context.Context) error {
	x.ended.Add(1)
	return nil
}

// script is what calls do, by their argument.
type script struct {
	mu    sync.Mutex
	steps map[string]func(ctx context.Context, x *actor) error
	ended atomic.Int32
	opens atomic.Int32
	open  func(ctx context.Context, a *Activation) error // nil: succeeds
}

func newScript() *script {
	return &script{steps: make(map[string]func(context.Context, *actor) error)}
}

func (s *script) on(name string, step func(ctx context.Context, x *actor) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps[name] = step
}

func (s *script) register(t *testing.T, options ...KindOption) (func(h *Host), **Method[string, int64]) {
	method := new(*Method[string, int64])
	return func(h *Host) {
		kind := must[*Kind[*actor]](t)(Register(h, "actor", func(ctx context.Context, a *Activation) (*actor, error) {
			s.opens.Add(1)
			if s.open != nil {
				if err := s.open(ctx, a); err != nil {
					return nil, err
				}
			}
			return &actor{a: a, ended: &s.ended}, nil
		}, options...))
		*method = must[*Method[string, int64]](t)(Handle(kind, "do", s.do))
	}, method
}

// do runs a step and returns the epoch of the activation.
func (s *script) do(x *actor, ctx context.Context, name string) (int64, error) {
	if x.running.Add(1) > 1 {
		return 0, errors.New("two calls run at once")
	}
	defer x.running.Add(-1)
	s.mu.Lock()
	step := s.steps[name]
	s.mu.Unlock()
	if step == nil {
		return x.a.Epoch(), nil
	}
	return x.a.Epoch(), step(ctx, x)
}

// result is what a call in the background returned.
type result struct {
	epoch int64
	err   error
}

func callAsync(ctx context.Context, m *Method[string, int64], id, step string) <-chan result {
	results := make(chan result, 1)
	go func() {
		epoch, err := m.Call(ctx, id, step)
		results <- result{epoch, err}
	}()
	return results
}

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
			ended <- session.Deactivate(t.Context(), placement.Deactivate{Key: placement.Key{Kind: "actor", ID: "x"}, Epoch: 1, Cause: placement.CauseMove})
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
			return session.Deactivate(t.Context(), placement.Deactivate{Key: placement.Key{Kind: "actor", ID: "x"}, Epoch: 1, Cause: placement.CauseIdle, IdleSince: since})
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
		var full *MailboxFullError
		if !errors.As(err, &full) || full.Waiting != 3 || errors.Is(err, ErrOutcomeUnknown) {
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
	var options []KindOption
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
	var fault *PanicError
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
		err := session.Deactivate(t.Context(), placement.Deactivate{Key: a.Key(), Epoch: 1, Cause: placement.CauseMove})
		if took := time.Since(began); err == nil || took != 6*time.Second {
			t.Errorf("its end takes %v: %v", took, err)
		}
		synctest.Wait()
		if !errors.Is(cause, ErrDeactivated) || !errors.Is(context.Cause(a.Context()), ErrDeactivated) {
			t.Errorf("its context ended with %v, the activation's with %v", cause, context.Cause(a.Context()))
		}
		session.activate(t, "actor", "x", 2)
		if r := <-queued; r.err != nil || r.epoch != 2 {
			t.Error("the call that waited behind it:", r)
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

func TestFactories(t *testing.T) {
	boom := errors.New("boom")
	for _, test := range []struct {
		name string
		open func(ctx context.Context, a *Activation) error
		want func(err error) bool
	}{
		{"an error", func(context.Context, *Activation) error { return boom }, func(err error) bool { return errors.Is(err, boom) }},
		{"a panic", func(context.Context, *Activation) error { panic("ouch") }, func(err error) bool { return errors.As(err, new(*PanicError)) }},
		{"slow, and its context ends", func(ctx context.Context, _ *Activation) error { <-ctx.Done(); return context.Cause(ctx) }, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				var a *Activation
				fired := false
				s.open = func(ctx context.Context, made *Activation) error {
					a = made
					a.After(time.Hour, func(context.Context) { fired = true })
					return test.open(ctx, a)
				}
				register, _ := s.register(t)
				_, session, _ := newFake(t, Options{}, register)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				key := placement.Key{Kind: "actor", ID: "x"}
				if _, err := session.EnsureActivation(ctx, placement.EnsureActivation{Key: key, Epoch: 1}); !test.want(err) {
					t.Errorf("got %v", err)
				}
				if session.kinds["actor"].find("x", 0) != nil || a.Context().Err() == nil {
					t.Error("what the factory did not make is there")
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if fired || s.ended.Load() != 0 {
					t.Error("a timer fired or Deactivate was called without an activation")
				}
				s.open = nil
				session.activate(t, "actor", "x", 2)
			})
		})
	}
}

// A factory that never returns holds up neither the end of its activation nor
// the next one, and what it makes in the end is ended.
func TestFactoryThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		let := make(chan struct{})
		s.open = func(context.Context, *Activation) error { <-let; return nil }
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{DeactivateTimeout: 5 * time.Second}, register)
		key := placement.Key{Kind: "actor", ID: "x"}
		made := make(chan error, 1)
		go func() {
			_, err := session.EnsureActivation(t.Context(), placement.EnsureActivation{Key: key, Epoch: 1})
			made <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := session.Deactivate(t.Context(), placement.Deactivate{Key: key, Epoch: 1, Cause: placement.CauseFailed}); err == nil || time.Since(began) != 6*time.Second {
			t.Errorf("it ends after %v: %v", time.Since(began), err)
		}
		s.open = nil
		session.activate(t, "actor", "x", 2)
		if epoch, err := (*method).Call(t.Context(), "x", ""); err != nil || epoch != 2 {
			t.Error(epoch, err)
		}
		close(let)
		if err := <-made; err == nil {
			t.Error("the late factory has made an activation")
		}
		synctest.Wait()
		if s.ended.Load() != 1 || session.kinds["actor"].find("x", 2) == nil {
			t.Errorf("%d ends were told; the next activation must stay", s.ended.Load())
		}
	})
}

func TestEnsureActivation(t *testing.T) {
	s := newScript()
	register, _ := s.register(t)
	_, session, _ := newFake(t, Options{}, register)
	key := placement.Key{Kind: "actor", ID: "x"}
	ensure := func(key placement.Key, epoch int64) error {
		_, err := session.EnsureActivation(t.Context(), placement.EnsureActivation{Key: key, Epoch: epoch})
		return err
	}
	for range 2 {
		if err := ensure(key, 5); err != nil || s.opens.Load() != 1 {
			t.Errorf("the same epoch: %v, %d factories", err, s.opens.Load())
		}
	}
	if err := ensure(key, 4); !errors.Is(err, placement.ErrStale) {
		t.Errorf("an older epoch: %v", err)
	}
	older := session.kinds["actor"].find("x", 5)
	if err := ensure(key, 6); err != nil || session.kinds["actor"].find("x", 6) == nil {
		t.Errorf("a newer epoch: %v", err)
	}
	<-older.Context().Done()
	if cause := context.Cause(older.Context()); !errors.Is(cause, placement.ErrActivationLost) {
		t.Errorf("the one before has ended with %v", cause)
	}
	if err := ensure(placement.Key{Kind: "other", ID: "x"}, 1); err == nil {
		t.Error("a kind that is not registered")
	}
}

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
		// Timers are no use: an activation with nothing else is idle.
		a.Every(time.Second, func(context.Context) {})
		time.Sleep(time.Minute + time.Second/2)
		idle := placement.Deactivate{Key: a.Key(), Epoch: 1, Cause: placement.CauseIdle, IdleSince: time.Now().Add(-time.Minute)}
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
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		register, _ := s.register(t, EndOnPanic)
		_, session, fake := newFake(t, Options{}, register)
		a := session.activate(t, "actor", "x", 1)
		runs := 0
		a.Every(time.Second, func(context.Context) { runs++; panic("ouch") })
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if runs != 1 || len(fake.ends()) != 1 || s.ended.Load() != 1 {
			t.Errorf("%d runs, the end was told %d times", runs, len(fake.ends()))
		}
	})
}

func TestCycles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		register, method := s.register(t)
		_, session, _ := newFake(t, Options{}, register)
		session.activate(t, "actor", "a", 1)
		session.activate(t, "actor", "b", 1)
		s.on("self", func(ctx context.Context, x *actor) error {
			_, err := (*method).Call(ctx, "a", "")
			return err
		})
		s.on("to b and back", func(ctx context.Context, x *actor) error {
			_, err := (*method).Call(ctx, "b", "self") // which calls a
			return err
		})
		s.on("to b", func(ctx context.Context, x *actor) error {
			_, err := (*method).Call(ctx, "b", "")
			return err
		})
		for step, length := range map[string]int{"self": 1, "to b and back": 2} {
			_, err := (*method).Call(t.Context(), "a", step)
			var cycle *CycleError
			if !errors.As(err, &cycle) || cycle.Key.ID != "a" || len(cycle.Chain) != length {
				t.Errorf("%s: %v", step, err)
			}
		}
		if _, err := (*method).Call(t.Context(), "a", "to b"); err != nil {
			t.Errorf("no cycle: %v", err)
		}
		a := session.kinds["actor"].find("a", 1)
		ran := false
		a.After(time.Second, func(ctx context.Context) {
			var cycle *CycleError
			if _, err := (*method).Call(ctx, "a", ""); !errors.As(err, &cycle) {
				t.Errorf("a timer that calls its own activation: %v", err)
			}
			ran = true
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if !ran {
			t.Error("the timer has not run")
		}
	})
}

func TestChainsAreBounded(t *testing.T) {
	s := newScript()
	register, method := s.register(t)
	_, session, _ := newFake(t, Options{}, register)
	depth := 0
	s.on("deeper", func(ctx context.Context, x *actor) error {
		depth++
		id := x.a.Key().ID + "x"
		if session.kinds["actor"].find(id, 0) == nil {
			session.activate(t, "actor", id, 1)
		}
		_, err := (*method).Call(ctx, id, "deeper")
		return err
	})
	session.activate(t, "actor", "x", 1)
	_, err := (*method).Call(t.Context(), "x", "deeper")
	var deep *DepthError
	if !errors.As(err, &deep) || depth != MaxChain {
		t.Errorf("after %d: %v", depth, err)
	}
}

// An error that says that the fence does not hold any more ends the activation.
func TestFenceTellsOfLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.on("write", func(context.Context, *actor) error { return placement.ErrActivationLost })
		register, method := s.register(t)
		_, session, fake := newFake(t, Options{}, register)
		session.activate(t, "actor", "x", 7)
		if _, err := (*method).Call(t.Context(), "x", "write"); !errors.Is(err, placement.ErrActivationLost) {
			t.Error(err)
		}
		synctest.Wait()
		if len(fake.lost) != 1 || fake.lost[0] != 7 {
			t.Errorf("lost: %v", fake.lost)
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
		if err := session.Deactivate(t.Context(), placement.Deactivate{Key: a.Key(), Epoch: 1, Cause: placement.CauseLost}); err != nil {
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
