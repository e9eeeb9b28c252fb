// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"net"
	"sync"

	"go.etcd.io/raft/v3/raftpb"
)

// transport carries messages between this node and the others.
type transport struct {
	id          uint64
	listener    net.Listener
	peers       map[uint64]*peer
	received    chan *raftpb.Message
	unreachable chan uint64

	context context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func startTransport(o Options) *transport {
	t := &transport{
		id: o.ID, listener: o.Listener, peers: map[uint64]*peer{},
		received: make(chan *raftpb.Message, queueLength), unreachable: make(chan uint64, len(o.Members)),
	}
	t.context, t.cancel = context.WithCancel(context.Background())
	for _, id := range o.Members {
		if id != o.ID {
			p := &peer{id: id, address: o.Address, queue: make(chan []byte, queueLength), unreachable: t.unreachable}
			t.peers[id] = p
			t.running.Go(func() { p.sendAll(t.context) })
		}
	}
	t.running.Go(t.accept)
	return t
}

// close ends all connections, and returns when no goroutine is left.
func (t *transport) close() {
	t.cancel()
	t.listener.Close()
	t.running.Wait()
}

// send sends a message, or loses it. It does not wait.
func (t *transport) send(m *raftpb.Message) error {
	p, known := t.peers[m.GetTo()]
	if !known {
		return nil
	}
	frame, err := encodeFrame(m)
	if err != nil {
		return err
	}
	p.send(frame)
	return nil
}

func (t *transport) accept() {
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			return
		}
		t.running.Go(func() { t.receive(conn) })
	}
}

// receive reads from a connection until it ends, or has bytes that are not a message of another member to this node.
func (t *transport) receive(conn net.Conn) {
	stop := context.AfterFunc(t.context, func() { conn.Close() })
	defer conn.Close()
	defer stop()
	for r := bufio.NewReader(conn); ; {
		m, err := readFrame(r)
		if err != nil || t.peers[m.GetFrom()] == nil || m.GetTo() != t.id {
			return
		}
		select {
		case t.received <- m:
		case <-t.context.Done():
			return
		}
	}
}
