// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kazahana-db/kazahana/placement"
)

// A request is forwarded twice, no more.
func TestForwards(t *testing.T) {
	_, p, x, _, at := newRouted(t)
	*at = holderAt("b", 4)
	x.to = func(context.Context, string, Request) (Reply, error) { return done("b", *at) }
	for forwards, path := range []string{"b1", "b2", ""} {
		x.sent = nil
		reply := p.serveRequest(t.Context(), Request{Key: placement.Key{Kind: "kind", ID: "id"}, Method: "m", Codec: "json", Forwards: forwards, To: holderAt("self", 0), Payload: []byte(`""`)})
		if x.path() != path {
			t.Errorf("a request that was forwarded %d times goes to %q", forwards, x.path())
		}
		if refused := reply.Status == Refused && errors.Is(reply.Err.Error(), ErrNotHere); refused != (path == "") || refused != (reply.Holder != *at) {
			t.Errorf("the reply to it: %+v", reply)
		}
	}
}

// A request names the holder according to its sender. A process that is named and has no
// activation gives back what a home may have for it.
func TestRequestSaysTo(t *testing.T) {
	_, p, x, f, at := newRouted(t)
	*at = holderAt("b", 4)
	var to placement.Holder
	x.to = func(_ context.Context, _ string, r Request) (Reply, error) {
		to = r.To
		return done("b", *at)
	}
	self := holderAt("self", 3)
	for _, incoming := range []placement.Holder{holderAt("self", 0), self} {
		p.serveRequest(t.Context(), Request{Key: placement.Key{Kind: "kind", ID: "id"}, Method: "m", Codec: "json", To: incoming, Payload: []byte(`""`)})
		if to != *at {
			t.Errorf("the request went on to %+v, want %+v", to, *at)
		}
	}
	if len(f.forgot) != 1 || f.forgot[0] != self {
		t.Errorf("forgot %+v, want %+v alone", f.forgot, self)
	}
}

// A process answers requests that are for it, under its incarnation and in its cluster, and no others: the
// sender may know an address that another process had before, or be in a copy of the cluster.
func TestRequestsForOthers(t *testing.T) {
	_, p, x, f, at := newRouted(t)
	*at = holderAt("self", 3)
	s := p.session.Load()
	s.enforceTopology(placement.Topology{Version: 1, Cluster: "ours"})
	resolved := 0
	f.resolve = func(context.Context, placement.Key) (placement.Resolution, error) {
		resolved++
		return placement.Resolution{}, placement.ErrDead
	}
	self := s.owner
	for name, c := range map[string]struct {
		to      placement.Owner
		cluster string
		served  bool
	}{
		"for it":                    {self, "ours", true},
		"of a version without ids":  {self, "", true},
		"from another cluster":      {self, "theirs", false},
		"for an earlier run":        {placement.Owner{Name: self.Name, Incarnation: self.Incarnation + 1}, "ours", false},
		"for another member":        {placement.Owner{Name: "other", Incarnation: self.Incarnation}, "ours", false},
		"for no one":                {placement.Owner{}, "ours", false},
		"for another in no cluster": {placement.Owner{Name: "other", Incarnation: 1}, "", false},
	} {
		resolved = 0
		reply := p.serveRequest(t.Context(), Request{
			Key: placement.Key{Kind: "kind", ID: "id"}, Method: "m", Codec: "json", Payload: []byte(`""`),
			Cluster: c.cluster, To: placement.Holder{Owner: c.to, Epoch: 3},
		})
		if served := resolved > 0; served != c.served || !served && (reply.Status != Refused || !errors.Is(reply.Err.Error(), ErrNotHere)) {
			t.Errorf("a request %s: served %v, %+v", name, served, reply)
		}
	}
	if len(x.sent) > 0 || len(f.forgot) > 0 {
		t.Errorf("sent %v, forgot %v", x.sent, f.forgot)
	}
}

// A request says from which cluster it is.
func TestRequestSaysCluster(t *testing.T) {
	_, p, x, _, at := newRouted(t)
	*at = holderAt("b", 4)
	p.session.Load().enforceTopology(placement.Topology{Version: 1, Cluster: "ours"})
	got := ""
	x.to = func(_ context.Context, _ string, r Request) (Reply, error) {
		got = r.Cluster
		return done("b", *at)
	}
	if err := p.Call(t.Context(), placement.Key{Kind: "kind", ID: "id"}, "m", "", nil); err != nil || got != "ours" {
		t.Errorf("it says %q, %v", got, err)
	}
}

// What arrives from other processes is checked before anything is done with it.
func TestRequestsAreChecked(t *testing.T) {
	_, p, x, f, _ := newRouted(t)
	f.resolve = func(context.Context, placement.Key) (placement.Resolution, error) {
		t.Error("it was resolved")
		return placement.Resolution{}, placement.ErrStopped
	}
	key := placement.Key{Kind: "kind", ID: "id"}
	long := make([]placement.Key, MaxChain)
	for name, r := range map[string]Request{
		"another codec":          {Key: key, Method: "m", Codec: "gob"},
		"no codec":               {Key: key, Method: "m"},
		"an empty kind":          {Key: placement.Key{ID: "id"}, Method: "m", Codec: "json"},
		"a NUL":                  {Key: placement.Key{Kind: "kind", ID: "i\x00d"}, Method: "m", Codec: "json"},
		"an id that is too long": {Key: placement.Key{Kind: "kind", ID: strings.Repeat("x", 1025)}, Method: "m", Codec: "json"},
		"no method":              {Key: key, Codec: "json"},
		"a long method":          {Key: key, Method: strings.Repeat("m", 256), Codec: "json"},
		"a large payload":        {Key: key, Method: "m", Codec: "json", Payload: make([]byte, 101)},
		"a cycle":                {Key: key, Method: "m", Codec: "json", Chain: []placement.Key{key}},
		"a long chain":           {Key: key, Method: "m", Codec: "json", Chain: long},
		"many forwards":          {Key: key, Method: "m", Codec: "json", Forwards: 3},
		"negative forwards":      {Key: key, Method: "m", Codec: "json", Forwards: -1},
	} {
		reply := p.serveRequest(t.Context(), r)
		if reply.Status != Refused || reply.Err.Error() == nil {
			t.Errorf("%s: %+v", name, reply)
		}
	}
	if len(x.sent) > 0 {
		t.Error(x.sent)
	}
}

func TestPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, _ := newFake(t, Options{MaxPayload: 100}, func(h *Host) {
			kind := must[*Kind[int]](t)(Register(h, "kind", func(context.Context, *Activation) (int, error) { return 0, nil }))
			must[*Method[int, string]](t)(Handle(kind, "repeat", func(_ int, _ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil }))
			must[*Method[int, func()]](t)(Handle(kind, "func", func(int, context.Context, int) (func(), error) { return func() {}, nil }))
		})
		s.activate(t, "kind", "id", 1)
		key := placement.Key{Kind: "kind", ID: "id"}
		var out string
		for _, test := range []struct {
			name, method, what string
			in, out            any
		}{
			{"an argument that JSON cannot carry", "repeat", argument, func() {}, &out},
			{"an argument that is too large", "repeat", argument, strings.Repeat("x", 101), &out},
			{"an argument of another type", "repeat", argument, "text", &out},
			{"a result that is too large", "repeat", resultOf, 101, &out},
			{"a result that JSON cannot carry", "func", resultOf, 1, nil},
			{"a result of another type", "repeat", resultOf, 1, new(int)},
		} {
			err := h.Call(t.Context(), key, test.method, test.in, test.out)
			var fault *PayloadError
			if !errors.As(err, &fault) || fault.What != test.what || fault.Key != key || fault.Method != test.method {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		if err := h.Call(t.Context(), key, "repeat", 3, &out); err != nil || out != "xxx" {
			t.Errorf("%q, %v", out, err)
		}
		if err := h.Call(t.Context(), key, "repeat", 3, nil); err != nil {
			t.Errorf("a result that the caller drops: %v", err)
		}
		var unknown *MethodError
		if err := h.Call(t.Context(), key, "other", 3, nil); !errors.As(err, &unknown) {
			t.Errorf("an unknown method: %v", err)
		}
		for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("m", 256)} {
			if err := h.Call(t.Context(), key, name, 3, nil); err == nil {
				t.Errorf("method %q is called", name)
			}
		}
	})
}
