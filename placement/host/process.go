// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// process is what a [Host] and a [Client] have in common: it calls activations
// wherever they are.
type process struct {
	options Options
	cluster cluster
	session atomic.Pointer[session] // nil while there is none
	parting atomic.Pointer[session] // of a host that stops, see part
	state   atomic.Int32
}

// The states of a process.
const (
	stateNew = iota
	stateStarted
	stateStopped
)

// Call implements [Caller].
func (p *process) Call(ctx context.Context, key placement.Key, name string, in, out any) error {
	if err := checkMethod(name); err != nil {
		return err
	}
	return p.callValues(ctx, key, &method{name: name}, in, out)
}

// Explain says why a key is where it is, as this process sees it: which members could have it, which
// of them the strategy chooses, and what is active or under way here. Nothing is read. The
// errors are those of a process that is not started, stopped, or about to join again.
func (p *process) Explain(key placement.Key) (placement.Explanation, error) {
	s, err := p.current()
	if err != nil {
		return placement.Explanation{Key: key}, err
	}
	return s.driver.Explain(key), nil
}

func (p *process) callingProcess() *process { return p }

// callValues encodes the argument, calls and decodes the result.
func (p *process) callValues(ctx context.Context, key placement.Key, m *method, in, out any) error {
	fault := func(what string, err error) error {
		return &PayloadError{Key: key, Method: m.name, What: what, Err: err}
	}
	payload, err := p.options.Codec.Marshal(in)
	if err != nil {
		return fault(argument, err)
	}
	if most := p.options.MaxPayload; len(payload) > most {
		return fault(argument, &SizeError{Bytes: len(payload), Most: most})
	}
	result, err := p.call(ctx, key, m, payload)
	if err != nil || out == nil {
		return err
	}
	if err := p.options.Codec.Unmarshal(result, out); err != nil {
		return fault(resultOf, err)
	}
	return nil
}

// call calls until the outcome is certain, or unknown and the method is not idempotent,
// or nothing is to be gained by another attempt.
func (p *process) call(ctx context.Context, key placement.Key, m *method, payload []byte) ([]byte, error) {
	if p.options.CallTimeout > 0 {
		if _, bounded := ctx.Deadline(); !bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p.options.CallTimeout)
			defer cancel()
		}
	}
	r := Request{Key: key, Method: m.name, Codec: p.options.Codec.Name(), Chain: chainOf(ctx), Payload: payload}
	failure := &CallError{Key: key, Method: m.name, Err: checkChain(key, r.Chain)}
	for attempt := 0; failure.Err == nil; attempt++ {
		o := p.dispatch(ctx, &r)
		switch {
		case o.status == Done:
			return o.payload, nil
		case o.status == Failed && !(m.idempotent && errors.Is(o.err, placement.ErrActivationLost)):
			return nil, identity(o.err)
		}
		failure.Unknown = failure.Unknown || o.status != Refused
		if failure.Err = o.err; p.retries(&r, o, m) {
			failure.Err = waitAfter(ctx, o.err, attempt)
		}
	}
	return nil, failure
}

// waitAfter waits before another attempt. It returns an error if ctx ends first, with
// the one of the attempt before.
func waitAfter(ctx context.Context, last error, attempt int) error {
	ended := backoff(ctx, attempt)
	switch {
	case ended == nil:
		return nil
	case errors.Is(last, ended):
		return last
	}
	return fmt.Errorf("%w, after: %w", ended, last)
}

// retries reports whether another attempt is right and may succeed.
func (p *process) retries(r *Request, o outcome, m *method) bool {
	_, err := p.sessionFor(r)
	switch {
	case errors.Is(err, ErrNotStarted) || errors.Is(err, placement.ErrStopped):
		return false
	case o.status != Refused:
		return m.idempotent
	}
	return errors.Is(o.err, ErrUnreachable) || errors.Is(o.err, ErrNotHere) ||
		errors.Is(o.err, placement.ErrStopped) || errors.Is(o.err, placement.ErrDead) || placement.IsRetryable(o.err)
}

// newProcess checks the options.
func newProcess(db kv.Database, o Options) (*process, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c, err := newDatabase(db, o)
	if err != nil {
		return nil, err
	}
	return &process{options: o, cluster: withSource(c, o)}, nil
}

// dispatch calls the activation if it is here, or sends the request to who has it.
func (p *process) dispatch(ctx context.Context, r *Request) outcome {
	for attempt := 0; ; attempt++ {
		s, err := p.sessionFor(r)
		if err != nil {
			return refused(err)
		}
		res, err := s.driver.Resolve(ctx, r.Key)
		if err != nil {
			return refused(err)
		}
		if res.Locality == placement.Remote {
			s.disown(r)
			return p.forward(ctx, s, res, r)
		}
		o := s.deliver(ctx, res, r)
		if o.err != errDraining || attempt > 0 && backoff(ctx, attempt) != nil {
			return o
		}
	}
}

// current returns the session, or why there is none.
func (p *process) current() (*session, error) {
	s := p.session.Load()
	switch state := p.state.Load(); {
	case state == stateNew:
		return nil, ErrNotStarted
	case state == stateStopped:
		return nil, placement.ErrStopped
	case s == nil:
		return nil, placement.ErrNotReady
	}
	return s, nil
}

// The delays between the attempts of a call double from the first to the last.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = time.Second
)

// backoff waits for a random part of a delay that doubles with each attempt. It
// returns an error if ctx ends first.
func backoff(ctx context.Context, attempt int) error {
	delay := lastBackoff
	if attempt < 8 {
		delay = min(delay, firstBackoff<<attempt)
	}
	return sleep(ctx, rand.N(delay)+1)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
