// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/placement/host"
)

func (s suite) closeWaits(t *testing.T) {
	began, let := make(chan struct{}), make(chan struct{})
	from, to := s.pair(t, func(ctx context.Context, r host.Request) host.Reply {
		if len(r.Payload) > 0 { // a probe
			return host.Reply{Status: host.Done}
		}
		close(began)
		<-let
		return host.Reply{Status: host.Done, Payload: fmt.Append(nil, ctx.Err())}
	})
	other := s.open(t)
	type result struct {
		reply host.Reply
		err   error
	}
	results, closed := make(chan result, 1), make(chan error, 1)
	go func() {
		reply, err := from.Call(t.Context(), to.Address(), request(nil))
		results <- result{reply, err}
	}()
	<-began
	go func() { closed <- to.Close(t.Context()) }()
	for { // until Close has begun
		reply, err := other.Call(t.Context(), to.Address(), request([]byte("probe")))
		if errors.Is(err, host.ErrUnreachable) || err == nil && reply.Status == host.Refused {
			break
		}
	}
	close(let)
	if r := <-results; r.err != nil || string(r.reply.Payload) != "<nil>" {
		t.Errorf("a request under way at Close: %v, the handler's context: %s", r.err, r.reply.Payload)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

func (s suite) closeEnds(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	from, to := s.pair(t, func(ctx context.Context, _ host.Request) host.Reply {
		close(began)
		<-ctx.Done()
		close(ended)
		return host.Reply{Status: host.Done}
	})
	errs := make(chan error, 1)
	go func() {
		_, err := from.Call(t.Context(), to.Address(), request(nil))
		errs <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := to.Close(ctx); err == nil {
		t.Error("Close with a context that has ended says that nothing was under way")
	}
	<-ended
	if err := <-errs; err == nil || errors.Is(err, host.ErrUnreachable) {
		t.Errorf("the call whose process has ended: %v", err)
	}
}

func (s suite) serveTwice(t *testing.T) {
	_, to := s.pair(t, func(context.Context, host.Request) host.Reply { return host.Reply{} })
	if err := to.Serve(func(context.Context, host.Request) host.Reply { return host.Reply{} }); err == nil {
		t.Error("a second Serve succeeds")
	}
}
