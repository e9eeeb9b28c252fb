// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// node is a machine of a cluster, on which one incarnation after the other runs.
type node struct {
	cluster *cluster
	name    string
	gate    *gate

	mu      sync.Mutex
	running *incarnation // nil: none is a member
	cancel  context.CancelCauseFunc
	ended   chan struct{}
}

var (
	errKilled  = errors.New("killed")
	errStopped = errors.New("stopped")
)

func (n *node) process() *incarnation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running
}

func (n *node) set(p *incarnation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = p
}

// start runs incarnations until the node is killed or stopped.
func (n *node) start() {
	ctx, cancel := context.WithCancelCause(context.Background())
	n.cancel, n.ended = cancel, make(chan struct{})
	n.gate.set(open)
	go func() {
		defer close(n.ended)
		for ctx.Err() == nil {
			if err := n.run(ctx); err != nil && ctx.Err() == nil {
				time.Sleep(time.Second)
			}
		}
	}()
}

// stop leaves cleanly.
func (n *node) stop() {
	n.cancel(errStopped)
	<-n.ended
}

// kill ends the node: nothing that it does from now on reaches the database.
func (n *node) kill() {
	n.gate.set(isolated)
	n.cancel(errKilled)
	<-n.ended
}

// run is one incarnation.
func (n *node) run(ctx context.Context) error {
	members, err := membership.New(n.gate, membership.Options{})
	if err != nil {
		return err
	}
	me, err := members.Join(ctx, membership.Self{Name: n.name, Address: n.name, Kinds: []string{"account"}})
	if err != nil {
		return err
	}
	p, err := newIncarnation(n, members, me)
	if err != nil {
		return err
	}
	n.cluster.count(&n.cluster.joined)
	running, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = p.driver.Run(running) })
	tasks.Go(func() {
		_ = members.Follow(running, func(t placement.Topology) { _ = p.driver.UpdateTopology(t) })
	})
	n.set(p)
	select {
	case <-ctx.Done():
	case <-me.Context().Done():
	}
	p.leave(context.Cause(ctx), me)
	n.set(nil)
	cancel()
	tasks.Wait()
	return nil
}
