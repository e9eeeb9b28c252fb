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
		n.err = n.handleNext()
		if n.err == nil {
			n.err = n.advanceRequests()
		}
	}
}

// handleNext handles one message, event or request.
func (n *Node) handleNext() error {
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

// advanceRequests proposes writes, and asks for and answers reads, as far as the last step allows.
func (n *Node) advanceRequests() error {
	if n.core.Status() != n.Status() {
		n.publish()
		n.askAgain()
	}
	if n.core.Status().Leader != 0 {
		if err := errors.Join(n.proposePuts(), n.askIndexes()); err != nil {
			return err
		}
	}
	n.answerReads()
	return nil
}

func (n *Node) publish() {
	status := n.core.Status()
	n.status.Store(&status)
	if n.options.OnStatus != nil {
		n.options.OnStatus(status)
	}
}

// proposePuts proposes the puts that were not proposed yet. A put that etcd/raft drops, because the
// leader was lost, is proposed again later.
func (n *Node) proposePuts() error {
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

// askIndexes asks for the index of the reads for which that was not asked yet.
func (n *Node) askIndexes() error {
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

// askAgain makes the node ask again for all missing indexes: a lost leader may not answer.
func (n *Node) askAgain() {
	for _, g := range n.gets {
		g.asked = g.index != 0
	}
}

// answerReads answers the reads up to the applied index.
func (n *Node) answerReads() {
	for id, g := range n.gets {
		if g.index != 0 && g.index <= n.core.Applied() {
			value, found := n.state.Get(g.key)
			g.answer <- reply{value, found}
			delete(n.gets, id)
		}
	}
}
