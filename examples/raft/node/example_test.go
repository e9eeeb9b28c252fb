// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/examples/raft/node"
)

// A group of one elects itself.
func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	members := []uint64{1}
	disk, err := core.NewMemoryDisk(members)
	if err != nil {
		log.Fatal(err)
	}
	n, err := node.Start(node.Options{
		ID: 1, Members: members, Listener: listener, Disk: disk,
		Address: func(uint64) string { return listener.Addr().String() },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()
	if err := n.Put(context.Background(), "color", "blue"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n.Get(context.Background(), "color"))
	// Output: blue true <nil>
}
