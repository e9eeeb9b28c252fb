// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// topologyQueue holds back topologies for a while after one has come into force, so that
// a storm of changes becomes one change.
type topologyQueue struct {
	timer    *time.Timer         // runs for a while after a topology has come into force; nil: not running
	topology *placement.Topology // that waits for the timer; nil: none
}

// UpdateTopology sets the live members. The first topology after a quiet time comes into
// force at once. Those within Options.Coalesce after it wait; then the newest of them comes
// into force. The error is a *placement.TopologyError, for a topology with faults, or for one
// that comes into force at once and is older than the one in force. It is no error if a
// waiting topology is replaced by a newer one.
func (d *Driver) UpdateTopology(t placement.Topology) error {
	if t.Validate() == nil && d.postponeTopology(t) {
		return nil
	}
	return d.enforceTopology(t)
}

// postponeTopology queues the topology if another one has just come into force.
func (d *Driver) postponeTopology(t placement.Topology) bool {
	if d.options.Runner != nil || d.options.Coalesce < 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newer.timer == nil {
		return false
	}
	if waiting := d.newer.topology; waiting == nil || t.Version > waiting.Version {
		d.newer.topology = &t
	}
	return true
}

// enforceTopology gives a topology to the coordinator.
func (d *Driver) enforceTopology(t placement.Topology) error {
	return d.callCore(func(now time.Time) (placement.Outcome, error) {
		out, err := d.core.UpdateTopology(t, now)
		if err == nil {
			close(d.changed)
			d.changed = make(chan struct{})
			d.startQuietTime()
		}
		return out, err
	})
}

// startQuietTime makes topologies wait from now on, for Options.Coalesce. The caller holds
// d.mu.
func (d *Driver) startQuietTime() {
	if d.options.Runner != nil || d.options.Coalesce < 0 || d.newer.timer != nil || d.core.State() == placement.StateStopped {
		return
	}
	d.newer.timer = time.AfterFunc(d.options.Coalesce, d.enforceNewest)
}

// enforceNewest ends the quiet time, and enforces the topology that has waited, if any.
func (d *Driver) enforceNewest() {
	d.mu.Lock()
	t := d.newer.topology
	d.newer = topologyQueue{}
	d.mu.Unlock()
	if t == nil {
		return
	}
	if err := d.enforceTopology(*t); err != nil {
		d.options.Logger.Warn("placement: a topology is refused", "version", t.Version, "error", err)
	}
}

// dropTopologies drops the waiting topology.
func (d *Driver) dropTopologies() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newer.timer != nil {
		d.newer.timer.Stop()
	}
	d.newer = topologyQueue{}
}
