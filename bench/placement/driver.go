// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// driverContest compares the driver alone with the lookup of a cluster: both resolve keys that
// are active on the same member.
func driverContest(peer pair) (measure.Contest, error) {
	d, err := newDriver()
	if err != nil {
		return measure.Contest{}, err
	}
	keys := make([]placement.Key, active)
	for i := range keys {
		keys[i] = placement.Key{Kind: kind, ID: identity(i)}
		if _, err := d.Resolve(context.Background(), keys[i]); err != nil {
			return measure.Contest{}, err
		}
	}
	local, _, err := activate(peer.members)
	ours := measure.Entrant{Name: "driver.Resolve", Elastic: true, Op: func(*measure.Worker) error {
		for _, key := range keys {
			if r, err := d.Resolve(context.Background(), key); err != nil || r.Locality != core.Local {
				return fmt.Errorf("%s is %+v, %w", key, r, err)
			}
		}
		return nil
	}}
	theirs := measure.Entrant{Name: peer.name, Elastic: true, Least: 5, Op: func(*measure.Worker) error {
		for i := range active {
			if err := get(peer, local[i%len(local)]); err != nil {
				return err
			}
		}
		return nil
	}}
	return measure.Contest{
		Name: "driver-1", About: "the resolve of a key that is active on the same member, without an actor system", Latency: true, Each: active,
		Entrants: []measure.Entrant{ours, theirs},
	}, err
}

func newDriver() (*driver.Driver, error) {
	self := placement.Owner{Name: "alone", Incarnation: 1}
	c, err := core.NewCoordinator(core.Options{Self: self, Address: "alone:1"})
	if err != nil {
		return nil, err
	}
	home, err := memory.New(memory.Options{Kept: true})
	if err != nil {
		return nil, err
	}
	d, err := driver.New(c, driver.Homes{Lock: home, Storage: home, Executor: emptyExecutor{}}, driver.Options{})
	if err != nil {
		return nil, err
	}
	d.UpdateTopology(placement.Topology{Version: 1, Members: []placement.Member{{Owner: self, Address: "alone:1", Kinds: []string{kind}}}})
	return d, d.StartMember([]string{kind})
}

// emptyExecutor is an executor with activations that do nothing.
type emptyExecutor struct{}

// EnsureActivation implements [driver.Executor].
func (emptyExecutor) EnsureActivation(_ context.Context, c core.EnsureActivation) (core.ActivationRecord, error) {
	return core.ActivationRecord{PID: strconv.FormatInt(c.Epoch, 10)}, nil
}

// Deactivate implements [driver.Executor].
func (emptyExecutor) Deactivate(context.Context, core.Deactivate) error { return nil }
