// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// testConcurrent acquires and releases from many goroutines through several
// servers: what they hold is disjoint.
func testConcurrent(f *fixture) {
	nodes := []*node{f.node(fresh()), f.node(fresh()), f.node(fresh())}
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
				if err := f.ledger.Granted(leases...); err != nil {
					f.Error(err)
				}
				if i%3 == 0 {
					f.ledger.Released(leases[0], leases[0].Created) // before somebody else has it
					if err := n.Release(f.Context(), f.sign(leases[0], leases[0].Created)); err != nil {
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

// workLeases is how many times [Work] acquires.
const workLeases = 40

// Work is what a process of [Suite.Process] does: it acquires leases from store
// and writes them to w, in JSON, one in a line. Some it releases.
func Work(ctx context.Context, store lease.Store, w io.Writer) error {
	server, err := lease.NewServer(store, fresh())
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for i := range workLeases {
		leases, err := server.Acquire(ctx, idgen.AcquireRequest{ThroughputPerMs: 1 << (7 + i%3)})
		if err != nil {
			return err
		}
		line := workLine{Leases: leases}
		if i%4 == 0 {
			line.LastTs = leases[0].Created
			if err := server.Release(ctx, leases[0].Release("", line.LastTs, time.UnixMilli(leases[0].Created))); err != nil {
				return err
			}
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// workLine is a line of the output of Work.
type workLine struct {
	Leases []idgen.Lease
	LastTs int64 // of the first lease, if it was released
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
	f.acquire(n, 1)
}

// readWork enters the output of Work into the ledger. Leases that were released
// are entered as released at once: another process may hold the rest.
func (f *fixture) readWork(output []byte) error {
	lines := 0
	for scanner := bufio.NewScanner(bytes.NewReader(output)); scanner.Scan(); {
		if scanner.Bytes()[0] != '{' {
			continue // what the test binary says at its end
		}
		var line workLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return err
		}
		lines++
		if err := f.ledger.add(line.Leases[0], line.LastTs); err != nil {
			return err
		}
		if err := f.ledger.Granted(line.Leases[1:]...); err != nil {
			return err
		}
	}
	if lines != workLeases {
		return fmt.Errorf("it acquired %d times, want %d", lines, workLeases)
	}
	return nil
}
