// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"

	"go.etcd.io/raft/v3"
)

// run owns the core until the node is closed or fails.
func (n *Node) run() {
	defer close(n.done)
	defer n.stop()
	for n.err == nil && n.context.Err() == nil {
		n.err = n.next()
		if n.err == nil {
			n.err = n.settle()
		}
	}
}

// next takes one message, event or request.
func (n *Node) next() error {
	select {
	case <-n.context.Done():
		return nil
	case m := <-n.transport.received:
		return n.core.Step(m)
	case e := <-n.timers.Events():
		if n.timers.IsCurrent(e) {
			return n.core.Fire(e)
		}
	case id := <-n.transport.unreachable:
		return n.core.ReportUnreachable(id)
	case request := <-n.requests:
		request()
	}
	return nil
}

// settle does what the step before has made possible.
func (n *Node) settle() error {
	if n.core.Status() != n.Status() {
		n.publish()
		n.askAgain()
	}
	if n.core.Status().Leader != 0 {
		if err := errors.Join(n.propose(), n.ask()); err != nil {
			return err
		}
	}
	n.answer()
	return nil
}

func (n *Node) publish() {
	status := n.core.Status()
	n.status.Store(&status)
	if n.options.OnStatus != nil {
		n.options.OnStatus(status)
	}
}

// propose proposes the puts that have not been proposed. One that etcd/raft drops stays: the leader was
// lost.
func (n *Node) propose() error {
	for _, p := range n.puts {
		if p.proposed {
			continue
		}
		switch err := n.core.Propose(p.data); {
		case err == nil:
			p.proposed = true
		case !errors.Is(err, raft.ErrProposalDropped):
			return err
		}
	}
	return nil
}

// ask asks for the index of the reads that have not been asked for.
func (n *Node) ask() error {
	for id, g := range n.gets {
		if g.asked {
			continue
		}
		g.asked = true
		if err := n.core.ReadIndex(encodeRequest(id)); err != nil {
			return err
		}
	}
	return nil
}

// askAgain has all reads without an index asked for anew: a leader that was lost may not answer.
func (n *Node) askAgain() {
	for _, g := range n.gets {
		g.asked = g.index != 0
	}
}

// answer answers the reads whose index was applied.
func (n *Node) answer() {
	for id, g := range n.gets {
		if g.index != 0 && g.index <= n.core.Applied() {
			value, found := n.state.Get(g.key)
			g.answer <- reply{value, found}
			delete(n.gets, id)
		}
	}
}
