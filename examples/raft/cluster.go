// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/examples/raft/node"
)

// cluster is a group of nodes in one process. Their disks outlive them.
type cluster struct {
	members   []uint64
	board     *board
	disks     map[uint64]core.Disk
	nodes     map[uint64]*node.Node // that run
	addresses sync.Map              // uint64 to string
}

// startCluster starts nodes 1 to n.
func startCluster(n int) (*cluster, error) {
	c := &cluster{board: newBoard(), disks: map[uint64]core.Disk{}, nodes: map[uint64]*node.Node{}}
	for id := uint64(1); id <= uint64(n); id++ {
		c.members = append(c.members, id)
	}
	for _, id := range c.members {
		disk, err := core.NewMemoryDisk(c.members)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.disks[id] = disk
		if err := c.start(id); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// start starts a node from its disk, on a new port.
func (c *cluster) start(id uint64) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.addresses.Store(id, listener.Addr().String())
	n, err := node.Start(node.Options{
		ID: id, Members: c.members, Address: c.address, Listener: listener, Disk: c.disks[id], OnStatus: c.board.setStatus,
	})
	if err == nil {
		c.nodes[id] = n
	}
	return err
}

// address returns where a node listens; nowhere before it is started for the first time.
func (c *cluster) address(id uint64) string {
	address, _ := c.addresses.LoadOrStore(id, "127.0.0.1:0")
	return address.(string)
}

// kill ends a node, which sends nothing to the others before.
func (c *cluster) kill(id uint64) error {
	err := c.nodes[id].Close()
	delete(c.nodes, id)
	c.board.remove(id)
	return err
}

func (c *cluster) close() error {
	var err error
	for id := range c.nodes {
		err = errors.Join(err, c.kill(id))
	}
	return err
}

// running returns the nodes that run, in the order of their ids.
func (c *cluster) running() []*node.Node {
	var nodes []*node.Node
	for _, id := range c.members {
		if n := c.nodes[id]; n != nil {
			nodes = append(nodes, n)
		}
	}
	return slices.Clip(nodes)
}
