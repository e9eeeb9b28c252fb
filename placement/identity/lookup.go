// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Lookup finds out where virtual actors are. It is not safe for concurrent use.
type Lookup interface {
	// SetupMember makes it the lookup of a member that activates these kinds.
	SetupMember(kinds []string, now time.Time) error
	// SetupClient makes it the lookup of a client, which activates nothing.
	SetupClient(now time.Time) error
	// Resolve returns where to send what is for a key. While that is being found
	// out, the error is a *placement.PendingError: call again later.
	Resolve(key placement.Key, now time.Time) (placement.Resolution, error)
	// UpdateTopology puts a topology in force. It refuses an older one.
	UpdateTopology(t placement.Topology, now time.Time) error
	// OnMemberLeft takes a member out of the topology.
	OnMemberLeft(o placement.Owner, now time.Time)
	// PassivateIdle ends the activations that were not used for a time.
	PassivateIdle(now time.Time, idle time.Duration)
	// DrainEvents returns the events since the last call, in order.
	DrainEvents() []placement.Event
	// DrainCacheEvents returns the events of the cache of locations since the last call, in order.
	DrainCacheEvents() []placement.CacheEvent
}
