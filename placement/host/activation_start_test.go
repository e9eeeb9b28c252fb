// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/placement"
)

func TestFactories(t *testing.T) {
	boom := errors.New("boom")
	for _, test := range []struct {
		name string
		open func(ctx context.Context, a *Activation) error
		want func(err error) bool
	}{
		{"an error", func(context.Context, *Activation) error { return boom }, func(err error) bool { return errors.Is(err, boom) }},
		{"a panic", func(context.Context, *Activation) error { panic("ouch") }, func(err error) bool { return errors.As(err, new(*panicError)) }},
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
				if _, err := session.EnsureActivation(ctx, core.EnsureActivation{Key: key, Epoch: 1}); !test.want(err) {
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
			_, err := session.EnsureActivation(t.Context(), core.EnsureActivation{Key: key, Epoch: 1})
			made <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := session.Deactivate(t.Context(), core.Deactivate{Key: key, Epoch: 1, Cause: placement.CauseFailed}); err == nil || time.Since(began) != 6*time.Second {
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
		_, err := session.EnsureActivation(t.Context(), core.EnsureActivation{Key: key, Epoch: epoch})
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

// TestActivationsModel does at random to the table what a map does.
func TestActivationsModel(t *testing.T) {
	random := seed.Rand(t)
	as, model := newActivations(&kind{name: "kind"}, nil), make(map[string]*Activation)
	for range 20_000 {
		id, epoch := fmt.Sprint(random.IntN(500)), random.Int64N(5)
		switch random.IntN(3) {
		case 0:
			was := model[id]
			a, older, made := as.add(id, epoch)
			if made != (was == nil || was.epoch < epoch) || made && older != was || !made && a != was {
				t.Fatalf("add %s under %d: %v, %v, %v, was %v", id, epoch, a, older, made, was)
			}
			model[id] = a
		case 1:
			if a := model[id]; a != nil {
				delete(model, id)
				as.remove(a)
				as.remove(a) // again
			}
		default:
			want := model[id]
			if want != nil && epoch != 0 && want.epoch != epoch {
				want = nil
			}
			if got := as.find(id, epoch); got != want {
				t.Fatalf("find %s under %d: %v, want %v", id, epoch, got, want)
			}
		}
		if as.len() != len(model) {
			t.Fatalf("%d activations, want %d", as.len(), len(model))
		}
	}
}

// A million activations are to take little memory.
func TestActivationsAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(Activation{}); size > 80 {
		t.Errorf("an activation has %d bytes", size)
	}
	s := newScript()
	register, method := s.register(t)
	_, session, _ := newFake(t, Options{}, register)
	a := session.activate(t, "actor", "x", 1)
	if _, err := (*method).Call(t.Context(), "x", ""); err != nil {
		t.Fatal(err)
	}
	for { // until its goroutine is done
		a.mu.Lock()
		running, more := a.running, a.more
		a.mu.Unlock()
		if !running {
			if more != nil {
				t.Errorf("an idle activation keeps %+v", more)
			}
			return
		}
	}
}
