// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// acquires is the number of leases in a round: more than there are machine ids in the default
// layout, so the contest's layout has more.
const acquires = 10_000

var leaseOptions = lease.Options{Default: lease.ServiceConfig{
	Layout: idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 41, MachineBits: 18, SequenceBits: 4},
}}

// leasing measures the acquisition of leases from one goroutine and from many.
var leasing = measure.Stage{Name: "lease", Open: func(dir string) (*measure.Set, error) {
	engine, err := embedded.Open(filepath.Join(dir, "engine"))
	if err != nil {
		return nil, err
	}
	inDatabase, err := leasefdb.New(engine, leasefdb.Options{Lease: leaseOptions})
	if err != nil {
		return nil, err
	}
	inMemory, err := memory.New(memory.Options{Server: leaseOptions})
	if err != nil {
		return nil, err
	}
	many := acquirer{name: "leasefdb on the embedded engine, 64 goroutines", service: "many", provider: inDatabase, engine: engine}
	one := acquirer{name: "leasefdb on the embedded engine, one goroutine", service: "one", provider: inDatabase}
	plain := acquirer{name: "lease/memory, 64 goroutines", service: "plain", provider: inMemory}
	return &measure.Set{Close: engine.Close, Contests: []measure.Contest{{
		Name: "acquire-64", About: "leases acquired, 10,000 of a service", Durable: true,
		Entrants: []measure.Entrant{many.entrant(64, acquires), one.entrant(1, acquires/20), plain.entrant(64, acquires)},
		Note:     many.describeRetries,
	}}}, nil
}}

// acquirer acquires leases of one service a round.
type acquirer struct {
	name     string
	service  string // and the round
	provider idgen.LeaseProvider
	engine   *embedded.Database // counts its conflicts; nil: conflicts are not counted

	round    int
	conflict int64 // the engine's count when the round began
	retried  []float64
	granted  []atomic.Bool // by machine id
}

func (a *acquirer) entrant(goroutines, ops int) measure.Entrant {
	return measure.Entrant{
		Name: a.name, Goroutines: goroutines, Ops: ops,
		Prepare: func() error {
			a.round++
			a.granted = make([]atomic.Bool, 1<<17)
			a.conflict = a.conflicts()
			return nil
		},
		Op:    a.acquire,
		Check: a.checkLeases,
	}
}

func (a *acquirer) conflicts() int64 {
	if a.engine == nil {
		return 0
	}
	return a.engine.Metrics().Conflicts
}

// acquire takes a lease, which no other acquirer may have.
func (a *acquirer) acquire(*measure.Worker) error {
	leases, err := a.provider.Acquire(context.Background(), idgen.AcquireRequest{ServiceID: fmt.Sprint(a.service, a.round)})
	if err != nil {
		return err
	}
	for _, l := range leases {
		if a.granted[l.ID].Swap(true) {
			return fmt.Errorf("machine %d was granted twice", l.ID)
		}
	}
	return nil
}

func (a *acquirer) checkLeases(ops int) error {
	a.retried = append(a.retried, float64(a.conflicts()-a.conflict)/float64(ops))
	return nil
}

// describeRetries describes how often acquisitions were repeated because of conflicts.
func (a *acquirer) describeRetries() string {
	return fmt.Sprintf("Of %d acquires from 64 goroutines, %.2g of each conflicted with another and was tried again.", acquires, measure.Median(a.retried))
}
