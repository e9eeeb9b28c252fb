// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// Three groups of one process, each its only member, elect their leaders.
func ExampleMux() {
	elected := make(chan string)
	m, err := rafttimer.NewMux(context.Background(), func(g *rafttimer.Group[string], e rafttimer.Event) {
		switch e.Kind {
		case rafttimer.ElectionTimeout:
			g.BecomeLeader() // the only member has a majority
		case rafttimer.Heartbeat:
			g.StopAll() // one is enough for an example
			elected <- g.Value()
		}
	}, rafttimer.MuxOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for _, name := range []string{"orders", "customers", "stock"} {
		g, err := m.NewGroup(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		g.BecomeFollower()
	}
	for range m.Len() {
		fmt.Println("leader of", <-elected)
	}
	// Unordered output:
	// leader of orders
	// leader of customers
	// leader of stock
}
