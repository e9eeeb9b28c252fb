// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
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
func (s suite) pair(t *testing.T, h func(context.Context, host.Request) host.Reply) (from, to host.Transport) {
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
	sent := &host.Failure{Name: "n", Message: "m\x00\"", Data: []byte(`{"a":1}`), Wraps: []host.Failure{{Message: "inner"}}}
	from, to := s.pair(t, func(context.Context, host.Request) host.Reply {
		return host.Reply{Status: host.Refused, Err: sent}
	})
	reply, err := from.Call(t.Context(), to.Address(), request(nil))
	if err != nil || reply.Status != host.Refused || !reflect.DeepEqual(reply.Err, sent) {
		t.Errorf("the reply is %v with %v, %v", reply, reply.Err, err)
	}
}

func (s suite) roundTrip(t *testing.T) {
	holder := placement.Holder{Owner: placement.Owner{Name: "m", Incarnation: 7}, Address: "where", Epoch: 1 << 60}
	var got host.Request
	from, to := s.pair(t, func(_ context.Context, r host.Request) host.Reply {
		got = r
		got.Payload = bytes.Clone(r.Payload)
		return host.Reply{Status: host.Done, Payload: append([]byte("re:"), r.Payload...), Holder: holder}
	})
	for _, payload := range [][]byte{[]byte("\x00\xff{}"), bytes.Repeat([]byte{0xfe, 0}, 200_000)} {
		want := request(payload)
		reply, err := from.Call(t.Context(), to.Address(), want)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the handler got %.200v, want %.200v", got, want)
		}
		if reply.Status != host.Done || reply.Holder != holder || string(reply.Payload) != "re:"+string(payload) || reply.Err != nil {
			t.Errorf("the reply is %.200v", reply)
		}
	}
	if reply, err := from.Call(t.Context(), to.Address(), host.Request{Key: got.Key}); err != nil || string(reply.Payload) != "re:" {
		t.Errorf("a request with nothing in it: %v, %v", reply, err)
	}
}

func (s suite) concurrent(t *testing.T) {
	const calls = 64
	var running atomic.Int64
	all := make(chan struct{})
	from, to := s.pair(t, func(_ context.Context, r host.Request) host.Reply {
		if running.Add(1) == calls {
			close(all)
		}
		<-all // none returns before all have come
		return host.Reply{Status: host.Done, Payload: r.Payload}
	})
	errs := make(chan error, calls)
	for i := range calls {
		go func() {
			payload := fmt.Append(nil, i)
			reply, err := from.Call(t.Context(), to.Address(), request(payload))
			if err == nil && !bytes.Equal(reply.Payload, payload) {
				err = fmt.Errorf("call %s got the reply %s", payload, reply.Payload)
			}
			errs <- err
		}()
	}
	for range calls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

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
		t.Errorf("the call to the process that has ended: %v", err)
	}
}

func (s suite) serveTwice(t *testing.T) {
	_, to := s.pair(t, func(context.Context, host.Request) host.Reply { return host.Reply{} })
	if err := to.Serve(func(context.Context, host.Request) host.Reply { return host.Reply{} }); err == nil {
		t.Error("a second Serve succeeds")
	}
}
