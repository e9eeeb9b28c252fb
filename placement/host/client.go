// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Client calls activations of other processes and has none itself. It only reads
// the database. It is safe for concurrent use.
type Client struct {
	process
	mu   sync.Mutex // held while the state changes
	stop firstStop
}

// NewClient returns a client on a database. Its transport need not have an address.
func NewClient(db kv.Database, o Options) (*Client, error) {
	p, err := newProcess(db, o)
	if err != nil {
		return nil, err
	}
	return newClient(p), nil
}

func newClient(p *process) *Client {
	c := &Client{stop: newFirstStop()}
	c.options, c.cluster = p.options, p.cluster
	return c
}

// Start begins to follow the topology. Calls wait for the first topology, which exists
// once the cluster has had a member.
func (c *Client) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state.Load() {
	case stateStopped:
		return placement.ErrStopped
	case stateStarted:
		return ErrStarted
	}
	s, err := c.newClientSession()
	if err != nil {
		return err
	}
	s.startTasks()
	c.session.Store(s)
	c.state.Store(stateStarted)
	return nil
}

// Stop refuses calls and stops following the topology. It closes the transport, even if
// the client was not started. A client cannot be started again. A second Stop waits for the first
// one, until its own context ends, and returns the same error.
func (c *Client) Stop(ctx context.Context) error {
	c.mu.Lock()
	was := c.state.Swap(stateStopped)
	c.mu.Unlock()
	if was == stateStopped {
		return c.stop.await(ctx)
	}
	return c.stop.run(func() error {
		var err error
		if s := c.session.Load(); s != nil {
			err = s.stopAndLeave(ctx)
		}
		return errors.Join(err, c.options.Transport.Close(ctx))
	})
}
