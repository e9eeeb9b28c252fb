// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
)

// routes is a transport whose addresses are functions.
type routes struct {
	alone
	to func(ctx context.Context, address string, r Request) (Reply, error)

	mu   sync.Mutex
	sent []string // address and forwards
}

func (x *routes) Address() string { return "self" }

func (x *routes) Call(ctx context.Context, address string, r Request) (Reply, error) {
	x.mu.Lock()
	x.sent = append(x.sent, fmt.Sprint(address, r.Forwards))
	x.mu.Unlock()
	return x.to(ctx, address, r)
}

func (x *routes) path() string { return strings.Join(x.sent, " ") }

func holderAt(name string, epoch int64) placement.Holder {
	return placement.Holder{Owner: placement.Owner{Name: name, Incarnation: 1}, Address: name, Epoch: epoch}
}

func remote(h placement.Holder) placement.Resolution {
	return placement.Resolution{Locality: placement.Remote, Owner: h.Owner, Address: h.Address, Epoch: h.Epoch}
}

// newRouted returns a host that finds keys where at says, and its transport.
func newRouted(t *testing.T, options ...MethodOption) (m *Method[string, string], p *process, x *routes, f *fakeLookup, at *placement.Holder) {
	x, at = new(routes), new(placement.Holder)
	h, _, f := newFake(t, Options{Transport: x, MaxPayload: 100}, func(h *Host) {
		kind := must[*Kind[int]](t)(Register(h, "kind", func(context.Context, *Activation) (int, error) { return 0, nil }))
		m = must[*Method[string, string]](t)(Handle(kind, "m", func(int, context.Context, string) (string, error) { return "here", nil }, options...))
	})
	f.resolve = func(ctx context.Context, _ placement.Key) (placement.Resolution, error) {
		return remote(*at), ctx.Err()
	}
	return m, &h.process, x, f, at
}

func done(result string, h placement.Holder) (Reply, error) {
	return Reply{Status: Done, Payload: fmt.Appendf(nil, "%q", result), Holder: h}, nil
}
