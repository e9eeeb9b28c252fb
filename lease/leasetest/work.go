// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

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
