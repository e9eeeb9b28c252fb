// SPDX-License-Identifier: Apache-2.0

// Package hosttest is for tests of programs with a [host.Host] and of transports: a
// [Network] within a process, with connections that a test can cut, and [RunTransport],
// which checks an implementation of [host.Transport].
//
//	network := hosttest.NewNetwork()
//	h, err := host.New(db, host.Options{Name: "bank-1", Transport: network.Listen("bank-1")})
package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// ErrReplyLost is the error of a call if the request has arrived, but [Peer.Kill] came before
// the reply.
var ErrReplyLost = errors.New("hosttest: the reply is lost")

// Network connects transports within a process. It is safe for concurrent use.
type Network struct {
	mu      sync.Mutex
	peers   map[string]*Peer
	cut     map[string]bool
	observe func(address string, r host.Request)
}

// NewNetwork returns a network without transports.
func NewNetwork() *Network {
	return &Network{peers: make(map[string]*Peer), cut: make(map[string]bool)}
}

// Listen returns the transport of an address. It takes the place of an earlier
// one of the address.
func (n *Network) Listen(address string) *Peer {
	p := &Peer{network: n, address: address, idle: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.peers[address] = p
	return p
}

// Cut makes an address unreachable, or reachable again.
func (n *Network) Cut(address string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[address] = cut
}

// Observe calls fn for each request that is sent, before it is.
func (n *Network) Observe(fn func(address string, r host.Request)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.observe = fn
}

// findPeer returns the peer of an address, which has counted the request.
func (n *Network) findPeer(address string, r host.Request) (*Peer, error) {
	n.mu.Lock()
	p, cut, observe := n.peers[address], n.cut[address], n.observe
	n.mu.Unlock()
	if observe != nil {
		observe(address, r)
	}
	if cut || p == nil || !p.beginRequest() {
		return nil, fmt.Errorf("%w: hosttest: %q", host.ErrUnreachable, address)
	}
	return p, nil
}

// Peer is a [host.Transport] of a [Network].
type Peer struct {
	network *Network
	address string
	ctx     context.Context // of the handlers; ends when Close does not wait any more
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	handler func(context.Context, host.Request) host.Reply
	calls   int
	closed  bool
	idle    chan struct{} // closed when it is closed and there are no calls
}

var _ host.Transport = (*Peer)(nil)

// Address implements [host.Transport].
func (p *Peer) Address() string { return p.address }

// Serve implements [host.Transport].
func (p *Peer) Serve(h func(context.Context, host.Request) host.Reply) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handler != nil || p.closed {
		return errors.New("hosttest: the peer serves already, or is closed")
	}
	p.handler = h
	return nil
}

// Call implements [host.Transport].
func (p *Peer) Call(ctx context.Context, address string, r host.Request) (host.Reply, error) {
	if err := ctx.Err(); err != nil {
		return host.Reply{}, fmt.Errorf("%w: %w", host.ErrUnreachable, err)
	}
	to, err := p.network.findPeer(address, r)
	if err != nil {
		return host.Reply{}, err
	}
	return to.runHandler(ctx, r)
}

// runHandler runs the handler on a goroutine of its own, like one of another process.
func (p *Peer) runHandler(ctx context.Context, r host.Request) (host.Reply, error) {
	replies := make(chan host.Reply, 1)
	there, end := context.WithCancel(p.ctx)
	if deadline, ok := ctx.Deadline(); ok {
		there, end = context.WithDeadline(p.ctx, deadline)
	}
	stop := context.AfterFunc(ctx, end)
	r.Payload, r.Chain = bytes.Clone(r.Payload), append([]placement.Key(nil), r.Chain...)
	go func() {
		defer p.endRequest()
		defer end()
		defer stop()
		reply := p.handler(there, r)
		reply.Payload = bytes.Clone(reply.Payload)
		replies <- reply
	}()
	return p.awaitReply(ctx, replies)
}

func (p *Peer) awaitReply(ctx context.Context, replies <-chan host.Reply) (host.Reply, error) {
	select {
	case reply := <-replies:
		return p.deliver(reply)
	case <-ctx.Done():
		return host.Reply{}, ctx.Err()
	case <-p.ctx.Done():
	}
	select {
	case reply := <-replies: // Close has waited for it
		return p.deliver(reply)
	default:
		return host.Reply{}, ErrReplyLost
	}
}

// deliver returns a reply, unless the process has ended before.
func (p *Peer) deliver(reply host.Reply) (host.Reply, error) {
	ended := context.Cause(p.ctx)
	if ended != nil && !errors.Is(ended, errDrained) {
		return host.Reply{}, ErrReplyLost
	}
	return reply, nil
}

// errDrained is why the context of the handlers has ended when Close has waited for all
// replies.
var errDrained = errors.New("hosttest: the peer is closed, and no request is under way")

// beginRequest counts a request, if the peer serves.
func (p *Peer) beginRequest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handler == nil || p.closed {
		return false
	}
	p.calls++
	return true
}

func (p *Peer) endRequest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls--; p.closed && p.calls == 0 {
		close(p.idle)
	}
}

// Kill drops the process at the address: its handlers' contexts end, no reply arrives, no
// request is taken.
func (p *Peer) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeLocked()
	p.cancel(nil)
}

// closeLocked makes the peer refuse requests. The caller holds the mutex.
func (p *Peer) closeLocked() {
	if !p.closed {
		p.closed = true
		if p.calls == 0 {
			close(p.idle)
		}
	}
}

// Close implements [host.Transport].
func (p *Peer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closeLocked()
	p.mu.Unlock()
	select {
	case <-p.idle:
		p.cancel(errDrained)
		return nil
	case <-ctx.Done():
		p.cancel(nil)
		return fmt.Errorf("hosttest: requests were still under way: %w", ctx.Err())
	}
}
