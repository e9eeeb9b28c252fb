// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
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
		if refused := reply.Status == Refused && errors.Is(reply.Err.Err(), ErrNotHere); refused != (path == "") || refused != (reply.Holder != *at) {
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
	f.resolve = func(context.Context, placement.Key) (core.Resolution, error) {
		resolved++
		return core.Resolution{}, placement.ErrDead
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
		if served := resolved > 0; served != c.served || !served && (reply.Status != Refused || !errors.Is(reply.Err.Err(), ErrNotHere)) {
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
	f.resolve = func(context.Context, placement.Key) (core.Resolution, error) {
		t.Error("it was resolved")
		return core.Resolution{}, placement.ErrStopped
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
		if reply.Status != Refused || reply.Err.Err() == nil {
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
			if !errors.Is(err, ErrPayload) || errors.Is(err, ErrTooLarge) != strings.HasSuffix(test.name, "too large") || !strings.Contains(err.Error(), fmt.Sprintf("the %s of %s of %s", test.what, test.method, key)) {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		if err := h.Call(t.Context(), key, "repeat", 3, &out); err != nil || out != "xxx" {
			t.Errorf("%q, %v", out, err)
		}
		if err := h.Call(t.Context(), key, "repeat", 3, nil); err != nil {
			t.Errorf("a result that the caller drops: %v", err)
		}
		if err := h.Call(t.Context(), key, "other", 3, nil); !errors.Is(err, ErrNoMethod) {
			t.Errorf("an unknown method: %v", err)
		}
		for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("m", 256)} {
			if err := h.Call(t.Context(), key, name, 3, nil); err == nil {
				t.Errorf("method %q is called", name)
			}
		}
	})
}

// The reply names the holder of the key: the caller corrects its location.
func TestReplyCorrectsLocation(t *testing.T) {
	m, _, x, f, at := newRouted(t)
	*at = holderAt("a", 3)
	there := holderAt("b", 4)
	x.to = func(context.Context, string, Request) (Reply, error) { return done("ok", there) }
	if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "ok" {
		t.Fatal(got, err)
	}
	if len(f.learned) != 1 || f.learned[0] != there {
		t.Errorf("learned %v", f.learned)
	}
	*at = there
	if _, err := m.Call(t.Context(), "id", ""); err != nil || len(f.learned) != 1 {
		t.Errorf("a right location was learned again: %v, %v", f.learned, err)
	}
}

// A process that does not have the activation says so, and the call goes to the one that has it.
func TestRefusalIsRetriedElsewhere(t *testing.T) {
	for name, refusal := range map[string]Reply{
		"not here":           Refuse(ErrNotHere),
		"it stops":           Refuse(placement.ErrStopped),
		"it is dead":         Refuse(placement.ErrDead),
		"it has no topology": Refuse(placement.ErrNotReady),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _, x, f, at := newRouted(t)
				*at = holderAt("a", 3)
				x.to = func(_ context.Context, address string, _ Request) (Reply, error) {
					if address == "a" {
						*at = holderAt("b", 4)
						return refusal, nil
					}
					return done("b", *at)
				}
				if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "b" {
					t.Error(got, err)
				}
				if x.path() != "a0 b0" || len(f.learned) != 0 || len(f.forgot) != 1 {
					t.Errorf("went to %s; learned %v, forgot %v", x.path(), f.learned, f.forgot)
				}
			})
		})
	}
}

func TestUnreachableIsRetriedUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, x, f, at := newRouted(t)
		*at = holderAt("a", 3)
		x.to = func(context.Context, string, Request) (Reply, error) {
			return Reply{}, fmt.Errorf("%w: refused", ErrUnreachable)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := m.Call(ctx, "id", "")
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrOutcomeUnknown) {
			t.Error(err)
		}
		if n := len(x.sent); n < 60 || n > 600 || len(f.forgot) != n {
			t.Errorf("%d attempts in a minute, %d locations forgotten", n, len(f.forgot))
		}
	})
}

func TestUnknownOutcome(t *testing.T) {
	broken := errors.New("connection reset")
	for name, failure := range map[string]func() (Reply, error){
		"the connection breaks":     func() (Reply, error) { return Reply{}, broken },
		"a forwarder does not know": func() (Reply, error) { return Reply{Status: Unknown, Err: failureOf(broken)}, nil },
		"a reply without status":    func() (Reply, error) { return Reply{}, nil },
		"a status of a newer version": func() (Reply, error) {
			return Reply{Status: Unknown + 1}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _, x, _, at := newRouted(t)
				*at = holderAt("a", 3)
				x.to = func(context.Context, string, Request) (Reply, error) { return failure() }
				if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOutcomeUnknown) || len(x.sent) != 1 {
					t.Errorf("%v after %d attempts", err, len(x.sent))
				}

				m, _, x, _, at = newRouted(t, Idempotent)
				*at = holderAt("a", 3)
				x.to = func(context.Context, string, Request) (Reply, error) {
					if len(x.sent) < 3 {
						return failure()
					}
					return done("ok", *at)
				}
				if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "ok" {
					t.Errorf("an idempotent method: %v, %v", got, err)
				}

				// If no attempt succeeds, that one may have been handled stays known.
				x.to = func(context.Context, string, Request) (Reply, error) {
					if len(x.sent) == 4 {
						return failure()
					}
					return Reply{}, ErrUnreachable
				}
				if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, ErrUnreachable) {
					t.Errorf("an idempotent method that is unreachable in the end: %v", err)
				}
			})
		})
	}
}

// Refusals that another attempt cannot change are returned at once.
func TestFinalRefusals(t *testing.T) {
	key := placement.Key{Kind: "kind", ID: "id"}
	for _, refusal := range []error{
		ErrNoMethod, ErrMailboxFull, ErrOverloaded, ErrCodec, placement.ErrInvalidKey,
		placement.ErrNoMember, &core.ActivationError{Key: key, Err: errors.New("x")}, ErrPayload, ErrTooLarge, ErrChainTooLong,
	} {
		m, _, x, _, at := newRouted(t, Idempotent)
		*at = holderAt("a", 3)
		x.to = func(context.Context, string, Request) (Reply, error) { return Refuse(refusal), nil }
		_, err := m.Call(t.Context(), "id", "")
		var failed *CallError
		if !errors.As(err, &failed) || failed.Unknown || len(x.sent) != 1 || !strings.Contains(err.Error(), refusal.Error()) {
			t.Errorf("%T: %v after %d attempts", refusal, err, len(x.sent))
		}
	}
}

// TestOverloadKeepsTheLocation: a member that refuses because it has too many requests has not said
// that the key is elsewhere. Otherwise each refused call made the next one ask the home.
func TestOverloadKeepsTheLocation(t *testing.T) {
	m, _, x, f, at := newRouted(t)
	*at = holderAt("a", 3)
	x.to = func(context.Context, string, Request) (Reply, error) { return Refuse(ErrOverloaded), nil }
	if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOverloaded) || len(f.forgot) > 0 {
		t.Errorf("%v; forgot %v", err, f.forgot)
	}
}

// A result of another process that is larger than this one accepts is refused, and the error names the call.
func TestResultsOfOthersAreBounded(t *testing.T) {
	m, _, x, _, at := newRouted(t)
	*at = holderAt("a", 3)
	x.to = func(context.Context, string, Request) (Reply, error) {
		return Reply{Status: Done, Payload: make([]byte, DefaultMaxPayload+1)}, nil
	}
	if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "the result of m of kind/id has 1048577 bytes") {
		t.Error(err)
	}
}

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
			if !errors.Is(err, ErrCycle) || !strings.HasSuffix(err.Error(), " -> actor/a") || strings.Count(err.Error(), " -> ") != length {
				t.Errorf("%s: %v", step, err)
			}
		}
		if _, err := (*method).Call(t.Context(), "a", "to b"); err != nil {
			t.Errorf("no cycle: %v", err)
		}
		a := session.kinds["actor"].find("a", 1)
		ran := false
		a.After(time.Second, func(ctx context.Context) {
			if _, err := (*method).Call(ctx, "a", ""); !errors.Is(err, ErrCycle) {
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
	if !errors.Is(err, ErrChainTooLong) || depth != MaxChain {
		t.Errorf("after %d: %v", depth, err)
	}
}
