// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// observer looks at some of the other members, for one that is alive. It belongs to one goroutine.
type observer struct {
	*Member
	version int64
	others  []placement.Owner // as they follow the member on the ring
	// seen are the leases as they were found. One that is found again as it was has not been
	// renewed in between, whether or not it was looked at then.
	seen map[placement.Owner]leasefdb.Observation
	told time.Time // when the load was written last
}

// wellWatched is how many members that renew their leases a member looks at. Because two look at
// each member, one that is paused itself delays nothing.
const wellWatched = 2

// nextPause returns how long to wait until the next look: a third of a lease, or until one of
// those that were looked at lapses.
func (o *observer) nextPause(looked []placement.Owner) time.Duration {
	d := jitter(o.registry.options.Duration / 3)
	for _, owner := range looked {
		if seen := o.seen[owner]; seen.State().Held() {
			d = min(d, max(seen.Remaining(time.Now()), o.registry.options.Duration/30))
		}
	}
	return d
}

// lookAtOthers reads the leases of the next members on the ring, evicts those that have lapsed, and
// returns the members that it has looked at.
func (o *observer) lookAtOthers() []placement.Owner {
	ctx, cancel := context.WithTimeout(o.ctx, o.registry.options.Duration)
	defer cancel()
	targets := o.targets()
	states, err := o.readLeases(ctx, targets)
	if err != nil || len(states) < len(targets) { // the directory was removed
		o.registry.options.Logger.Debug("membership: a look at other members failed", "member", o.lease.Grant().Name, "error", err)
		return targets
	}
	for i, owner := range targets {
		if states[i].Name == "" { // it cannot be read, and says nothing
			continue
		}
		if !o.noteLease(ctx, owner, states[i]) {
			delete(o.seen, owner)
			o.others = slices.DeleteFunc(o.others, func(other placement.Owner) bool { return other == owner })
		}
	}
	maps.DeleteFunc(o.seen, func(owner placement.Owner, _ leasefdb.Observation) bool { return !slices.Contains(o.others, owner) })
	return targets
}

// noteLease notes the state of a member's lease, and evicts the member if it has none or it has
// lapsed. It reports whether to look at the member again: always, unless it was evicted. A renewal
// just before the eviction shows that the member was alive then, not that it still is. The observer
// looks at an owner without a row until the next topology.
func (o *observer) noteLease(ctx context.Context, owner placement.Owner, state leasefdb.State) bool {
	seen := o.seen[owner].Observe(state, time.Now())
	o.seen[owner] = seen
	if state.Held() && isOf(state, owner) && seen.Remaining(time.Now()) > 0 {
		return true
	}
	evicted, err := o.registry.evictLapsed(ctx, owner, seen)
	log := o.registry.options.Logger.With("evicted", owner.String(), "by", o.lease.Grant().Name)
	switch {
	case err != nil:
		log.Debug("membership: an eviction failed", "error", err)
	case evicted:
		log.Warn("membership: a member that did not renew its lease was evicted")
	}
	return !evicted
}

// isOf reports whether a lease is that of an owner. The name of a row that cannot be read has one
// lease, whatever its incarnation.
func isOf(state leasefdb.State, owner placement.Owner) bool {
	return state.Epoch == owner.Incarnation || owner.Incarnation == 0
}

// readLeases reads the leases of members, and the others anew if the topology has changed.
func (o *observer) readLeases(ctx context.Context, targets []placement.Owner) (states []leasefdb.State, err error) {
	names := make([]string, len(targets))
	for i, owner := range targets {
		names[i] = owner.Name
	}
	err = o.registry.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		k, found, err := o.registry.openKeys(ctx, tx)
		if err != nil || !found {
			return err
		}
		startedVersion := k.startVersion(tx)
		states, err = o.registry.names.States(ctx, tx.Snapshot(), names...)
		if states == nil && err != nil {
			return err
		}
		if err != nil {
			o.registry.options.Logger.Debug("membership: the leases of members cannot be read", "error", err)
		}
		version, err := startedVersion(ctx)
		if err != nil || version == o.version {
			return err
		}
		all, err := k.startRows(tx)(ctx)
		if err == nil {
			o.version, o.others = version, ringAfter(o.lease.Grant().Name, all.owners())
		}
		return err
	})
	return states, err
}

// ringAfter returns the members as they follow one of them on a ring of the hashes of
// their names.
func ringAfter(self string, members []placement.Owner) []placement.Owner {
	type ringPlace struct {
		placement.Owner
		distance uint64
	}
	origin := hash(self)
	var ring []ringPlace
	for _, m := range members {
		if m.Name != self {
			ring = append(ring, ringPlace{m, hash(m.Name) - origin})
		}
	}
	slices.SortFunc(ring, func(a, b ringPlace) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.Name, b.Name))
	})
	owners := make([]placement.Owner, len(ring))
	for i, p := range ring {
		owners[i] = p.Owner
	}
	return owners
}

// hash is FNV-1a of 64 bits.
func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// targets returns the members to look at: the next two on the ring, and four more for each suspect
// one, so that an observer finds many deaths at once quickly.
func (o *observer) targets() (targets []placement.Owner) {
	wanted := wellWatched
	for _, owner := range o.others {
		if len(targets) >= wanted {
			break
		}
		targets = append(targets, owner)
		if o.isSuspect(owner) {
			wanted += 2 * wellWatched
		}
	}
	return targets
}

// isSuspect reports whether a member was not seen to renew its lease for longer than a live one
// takes: it renews after a third of a lease, and its observer looks a third later.
func (o *observer) isSuspect(owner placement.Owner) bool {
	seen := o.seen[owner]
	return seen.State().Held() && seen.Remaining(time.Now()) <= seen.State().Duration/4
}

// tellLoad writes the load, if it has changed and was not written for a lease.
func (o *observer) tellLoad() {
	d := o.registry.options.Duration
	if load := o.load.Load(); load != o.Member.Member().Load && time.Since(o.told) >= d {
		ctx, cancel := context.WithTimeout(o.ctx, d)
		defer cancel()
		if o.updateRow(ctx, func(r *row) { r.Load = load }) == nil {
			o.told = time.Now()
		}
	}
}
