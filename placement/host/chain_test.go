// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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
