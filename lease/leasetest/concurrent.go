// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// testConcurrent acquires and releases from many goroutines through several
// servers: what they hold is disjoint.
func testConcurrent(f *fixture) {
	nodes := []*node{f.newNode(fresh()), f.newNode(fresh()), f.newNode(fresh())}
	const workers, each = 12, 12
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			n := nodes[w%len(nodes)]
			for i := range each {
				throughput := 1 << (6 + (w+i)%5)
				leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{ThroughputPerMs: throughput})
				if err != nil {
					f.Error(err)
					return
				}
				if err := f.ledger.AddGrant(leases...); err != nil {
					f.Error(err)
				}
				if i%3 == 0 {
					f.ledger.AddRelease(leases[0], leases[0].Created) // before it is granted again
					if err := n.Release(f.Context(), f.signRelease(leases[0], leases[0].Created)); err != nil {
						f.Error(err)
					}
				}
				f.advance(time.Millisecond)
			}
		})
	}
	group.Wait()
	if got := f.ledger.Len(); got < workers*each {
		f.Errorf("%d leases were granted, want at least %d", got, workers*each)
	}
}

// testProcesses lets processes acquire at the same time.
func testProcesses(f *fixture) {
	if f.Process == nil {
		f.Skip("one process has the store for itself")
	}
	const processes = 4
	outputs := make([][]byte, processes)
	var group sync.WaitGroup
	for i := range processes {
		cmd := f.Process(f.T, f.name)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		group.Go(func() {
			out, err := cmd.Output()
			if err != nil {
				f.Errorf("process %d: %v\n%s", i, err, stderr.Bytes())
			}
			outputs[i] = out
		})
	}
	group.Wait()
	if f.Failed() {
		return
	}
	for i, output := range outputs {
		if err := f.readWork(output); err != nil {
			f.Errorf("process %d: %v", i, err)
		}
	}
	if got := f.ledger.Len(); got < processes*workLeases {
		f.Errorf("%d leases were granted, want at least %d", got, processes*workLeases)
	}
	n := &node{}
	server, err := lease.NewServer(f.Open(f.T, f.name), lease.Options{})
	if err != nil {
		f.Fatal(err)
	}
	n.server, n.LeaseProvider = server, server
	f.acquireLease(n, 1)
}
