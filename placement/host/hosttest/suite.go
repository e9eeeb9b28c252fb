// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// RunTransport checks transports: open returns another one at each call, all of
// which reach each other. They need not be closed.
func RunTransport(t *testing.T, open func(t *testing.T) host.Transport) {
	s := suite{open}
	t.Run("RoundTrip", s.roundTrip)
	t.Run("Errors", s.errors)
	t.Run("Deadline", s.deadline)
	t.Run("Cancel", s.cancel)
	t.Run("Unreachable", s.unreachable)
	t.Run("Concurrent", s.concurrent)
	t.Run("CloseWaits", s.closeWaits)
	t.Run("CloseEnds", s.closeEnds)
	t.Run("ServeTwice", s.serveTwice)
}

type suite struct {
	open func(t *testing.T) host.Transport
}

// pair returns a transport that calls, and the address of one that serves.
func (s suite) pair(t *testing.T, h host.Handler) (from, to host.Transport) {
	t.Helper()
	from, to = s.open(t), s.open(t)
	if err := to.Serve(h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = from.Close(ctx)
		_ = to.Close(ctx)
	})
	return from, to
}

func request(payload []byte) host.Request {
	key := placement.Key{Kind: "kind", ID: "an id with / \u2028 \"quotes\" and 漢字"}
	return host.Request{
		Key: key, Method: "método", Codec: "json", Forwards: 2, Payload: payload,
		Chain: []placement.Key{{Kind: "kind", ID: "a"}, {Kind: "other", ID: "b"}},
	}
}

func (s suite) deadline(t *testing.T) {
	seen := make(chan time.Duration, 2)
	from, to := s.pair(t, func(ctx context.Context, _ host.Request) host.Reply {
		if deadline, ok := ctx.Deadline(); ok {
			seen <- time.Until(deadline)
		} else {
			seen <- 0
		}
		return host.Reply{Status: host.Done}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := from.Call(ctx, to.Address(), request(nil)); err != nil {
		t.Fatal(err)
	}
	if left := <-seen; left > time.Hour || left < 50*time.Minute {
		t.Errorf("the handler has %v left of an hour", left)
	}
	if _, err := from.Call(t.Context(), to.Address(), request(nil)); err != nil {
		t.Fatal(err)
	}
	if left := <-seen; left != 0 {
		t.Errorf("the handler has %v left, and its caller no deadline", left)
	}
}

func (s suite) cancel(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	from, to := s.pair(t, func(ctx context.Context, _ host.Request) host.Reply {
		close(began)
		<-ctx.Done()
		close(ended)
		return host.Reply{Status: host.Done}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err := from.Call(ctx, to.Address(), request(nil))
	if !errors.Is(err, context.Canceled) || errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a call that was cancelled while it was handled: %v", err)
	}
	<-ended
}

func (s suite) unreachable(t *testing.T) {
	from, gone := s.open(t), s.open(t)
	if err := gone.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Call(t.Context(), gone.Address(), request(nil)); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a call to where nothing serves: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := from.Call(ctx, gone.Address(), request(nil)); !errors.Is(err, host.ErrUnreachable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a call with a context that has ended: %v", err)
	}
}

func (s suite) errors(t *testing.T) {
	sent := &host.WireError{Name: "n", Message: "m\x00\"", Data: []byte(`{"a":1}`), Wraps: []host.WireError{{Message: "inner"}}}
	from, to := s.pair(t, func(context.Context, host.Request) host.Reply {
		return host.Reply{Status: host.Refused, Err: sent}
	})
	reply, err := from.Call(t.Context(), to.Address(), request(nil))
	if err != nil || reply.Status != host.Refused || !reflect.DeepEqual(reply.Err, sent) {
		t.Errorf("the reply is %v with %v, %v", reply, reply.Err, err)
	}
}
