// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// Call implements [Caller].
func (p *process) Call(ctx context.Context, key placement.Key, name string, in, out any) error {
	if err := checkMethod(name); err != nil {
		return err
	}
	return p.callValues(ctx, key, &method{name: name}, in, out)
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
	result, err := p.callEncoded(ctx, key, m, payload)
	if err != nil || out == nil {
		return err
	}
	if err := p.options.Codec.Unmarshal(result, out); err != nil {
		return fault(resultOf, err)
	}
	return nil
}

// callEncoded repeats a call until the outcome is certain, or unknown for a method that is not
// idempotent, or another attempt cannot succeed.
func (p *process) callEncoded(ctx context.Context, key placement.Key, m *method, payload []byte) ([]byte, error) {
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
		o := p.dispatchRequest(ctx, &r)
		switch {
		case o.status == Done:
			return o.payload, nil
		case o.status == Failed && !(m.idempotent && errors.Is(o.err, placement.ErrActivationLost)):
			return nil, identity(o.err)
		}
		failure.Unknown = failure.Unknown || o.status != Refused
		if failure.Err = o.err; p.shouldRetry(&r, o, m) {
			failure.Err = waitAfter(ctx, o.err, attempt)
		}
	}
	return nil, failure
}

// shouldRetry reports whether another attempt is safe and may succeed.
func (p *process) shouldRetry(r *Request, o outcome, m *method) bool {
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
