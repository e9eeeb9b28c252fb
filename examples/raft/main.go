// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

// timeLimit is how long the scenario may take; it takes about a second.
const timeLimit = time.Minute

func main() {
	nodes := flag.Int("nodes", 5, "number of nodes, 3 to 5")
	flag.Parse()
	if *nodes < 3 || *nodes > 5 {
		fmt.Fprintf(os.Stderr, "raft: -nodes is %d: it must be 3, 4 or 5\n", *nodes)
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeLimit, fmt.Errorf("not finished after %v", timeLimit))
	defer cancel()
	if _, err := runScenario(ctx, *nodes, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "raft:", err)
		os.Exit(1)
	}
}
