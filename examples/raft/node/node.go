// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/examples/raft/kv"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// ErrClosed is the error of the methods of a [Node] that was closed, or that has failed: then it
// is joined with the cause.
var ErrClosed = errors.New("node: closed")

// snapshotEvery is the number of entries after which the log is compacted.
const snapshotEvery = 1000

// Options configure a [Node], which must be one of the members. All but Timing and OnStatus are required.
type Options struct {
	ID       uint64
	Members  []uint64               // this node included
	Address  func(id uint64) string // of a member; called for each connection
	Listener net.Listener           // closed by the node
	Disk     core.Disk

	Timing rafttimer.Config
	// OnStatus is called with each new status, by the goroutine that owns the core: it must not
	// wait.
	OnStatus func(core.Status)
}

// validate reports all faults.
func (o Options) validate() error {
	var faults []error
	check := func(ok bool, fault string) {
		if !ok {
			faults = append(faults, errors.New("node: Options."+fault))
		}
	}
	check(o.ID != 0 && slices.Contains(o.Members, o.ID), "Members must have Options.ID, which must not be 0")
	check(o.Address != nil, "Address is required")
	check(o.Listener != nil, "Listener is required")
	check(o.Disk != nil, "Disk is required")
	return errors.Join(append(faults, o.Timing.Validate())...)
}

// Node is a running node. Its methods are safe for concurrent use.
type Node struct {
	options   Options
	transport *transport
	timers    *rafttimer.Driver
	requests  chan func()
	status    atomic.Pointer[core.Status]

	context context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // set before done is closed

	// The rest belongs to the goroutine that runs the node.
	core  *core.Core
	state kv.Map
	puts  map[uint64]*put
	gets  map[uint64]*get
}

// Start starts a node in the state of its disk. An error that joins all faults of the options leaves the
// listener open.
func Start(o Options) (*Node, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	timers, err := rafttimer.New(context.Background(), rafttimer.Options{Config: o.Timing})
	if err != nil {
		return nil, err
	}
	n := &Node{
		options: o, timers: timers, requests: make(chan func()), done: make(chan struct{}),
		puts: map[uint64]*put{}, gets: map[uint64]*get{},
	}
	n.context, n.cancel = context.WithCancel(context.Background())
	n.state.Applied = n.noteApplied
	n.transport = startTransport(o)
	if err := n.startCore(); err != nil {
		n.stop()
		return nil, err
	}
	go n.run()
	return n, nil
}

func (n *Node) startCore() (err error) {
	n.core, err = core.New(core.Config{
		ID: n.options.ID, Disk: n.options.Disk, Timers: n.timers, State: &n.state,
		Send: n.transport.send, Read: n.noteIndex,
		Timing: n.options.Timing, Sticky: true, SnapshotEvery: snapshotEvery,
	})
	if err == nil {
		n.publish()
	}
	return err
}

// Close ends the node as a crash does: it sends nothing to the others. It waits until all goroutines
// have ended, and returns the error with which the node has failed, if any.
func (n *Node) Close() error {
	n.cancel()
	<-n.done
	return n.err
}

func (n *Node) stop() {
	n.cancel()
	n.transport.close()
	n.timers.Close()
}

// Status returns the node's view of its group.
func (n *Node) Status() core.Status { return *n.status.Load() }

// closed returns the error of a node that has ended.
func (n *Node) closed() error { return errors.Join(ErrClosed, n.err) }
