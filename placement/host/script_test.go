// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
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
