// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// Join makes the process a member, under an incarnation that the name has never had. It
// waits for the lease of a predecessor that died, at most [Options.Duration]; after a clean
// leave it waits for nothing. If another member has the name and renews its lease, the error is a
// *[NameError]; that is noticed at its next renewal. ctx bounds the waiting; its values are those of
// [Member.Context], its end is not. One transaction, if it does not have to wait.
//
// If ctx ends while a claim is under way, the error wraps [kv.ErrOutcomeUnknown]: the name
// may then be held until the lease lapses.
func (r *Registry) Join(ctx context.Context, self Self) (*Member, error) {
	return r.join(ctx, self, nil)
}

// join joins, in the place of the lost membership before if there is one.
func (r *Registry) join(ctx context.Context, self Self, before *Member) (*Member, error) {
	if err := self.Validate(); err != nil {
		return nil, err
	}
	claim := leasefdb.Claim{Duration: r.options.Duration, RequestID: rand.Text()}
	for {
		m, err := r.tryJoin(ctx, self, claim, before)
		var held *leasefdb.HeldError
		if !errors.As(err, &held) {
			return m, err
		}
		if wasRenewed(claim.Seen.State(), held.State) {
			return nil, nameTaken(held)
		}
		claim.Seen = claim.Seen.Observe(held.State)
		if err := r.awaitName(ctx, held.State, claim.Seen); err != nil {
			return nil, fmt.Errorf("membership: gave up waiting for the lease of %q to end: %w", self.Name, err)
		}
	}
}

// newClusterID returns a random id of a cluster.
func newClusterID() []byte {
	id := make([]byte, ClusterIDSize)
	_, _ = rand.Read(id) // it never fails
	return id
}

// wasRenewed reports whether a lease was renewed between two looks.
func wasRenewed(before, now leasefdb.State) bool {
	return before.Held() && before.Epoch == now.Epoch && before.Revision != now.Revision
}

// tryJoin claims the name, which a membership before gives back, and registers the member, in one transaction.
func (r *Registry) tryJoin(ctx context.Context, self Self, claim leasefdb.Claim, before *Member) (*Member, error) {
	row, newID := self.newRow(), newClusterID()
	grant, err := kv.Transact(ctx, r.db, func(tx kv.Transaction) (leasefdb.Grant, error) {
		k, err := r.createKeys(ctx, tx)
		if err != nil {
			return leasefdb.Grant{}, err
		}
		cluster := k.startCluster(tx)
		if before != nil {
			if err := before.lease.Grant().Release(ctx, tx); err != nil {
				return leasefdb.Grant{}, err
			}
		}
		grant, err := r.names.Claim(ctx, tx, self.Name, claim)
		if err != nil {
			return grant, err
		}
		if id, err := cluster(ctx); err != nil {
			return grant, err
		} else if id == "" {
			tx.Set(k.cluster(), newID)
		}
		row.Incarnation = grant.Epoch
		tx.Set(k.member(self.Name), row.encode())
		k.bumpVersion(tx)
		return grant, nil
	})
	if err != nil {
		return nil, err
	}
	return newMember(ctx, r, row, grant), nil
}

// awaitName waits until the lease of a name has lapsed, was renewed or was given back.
func (r *Registry) awaitName(ctx context.Context, held leasefdb.State, seen leasefdb.Observation) error {
	lapse := time.NewTimer(seen.Remaining())
	defer lapse.Stop()
	state, watch, err := r.names.Watch(ctx, r.db, held.Name)
	switch {
	case cannotWatch(err):
		watch = kv.NewPromise[struct{}]().Future() // it will lapse, or be found renewed then
	case err != nil:
		return err
	}
	defer func() { watch.Cancel() }()
	if err == nil && state != held {
		return nil
	}
	select {
	case <-watch.Done():
		if _, failed := watch.Get(ctx); failed == nil {
			return nil
		}
	case <-lapse.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select { // the watch has failed
	case <-lapse.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
