// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

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
