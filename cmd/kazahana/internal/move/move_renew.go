// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// renew changes in the target what it must not share with the source, where programs may still
// run. It can be repeated.
func (m *move) renew(ctx context.Context) error {
	db := renewal{m.to.DB, m}
	if err := m.quarantine(ctx, db); err != nil {
		return fmt.Errorf("putting the leases in quarantine: %w", err)
	}
	if err := m.forget(ctx, db); err != nil {
		return fmt.Errorf("removing the members of the cluster of actors: %w", err)
	}
	return nil
}

// servicePage is how many services of leases are listed at once.
const servicePage = 100

// quarantine has no lease granted until those have ended that the source may grant after the copy.
func (m *move) quarantine(ctx context.Context, db renewal) error {
	provider, err := leasefdb.New(db, leasefdb.Options{})
	if err != nil {
		return err
	}
	for after := ""; ; {
		names, err := provider.Services(ctx, after, servicePage)
		if err != nil {
			return err
		}
		for _, name := range names {
			until, err := quarantineService(ctx, db, name)
			if err != nil {
				return fmt.Errorf("service %q: %w", name, err)
			}
			m.result.Services = append(m.result.Services, Service{name, until.UTC()})
		}
		if len(names) < servicePage {
			return nil
		}
		after = names[len(names)-1]
	}
}

// quarantineService puts a service in quarantine, whatever the layout of its IDs is: the first
// attempt says which one is stored.
func quarantineService(ctx context.Context, db renewal, name string) (until time.Time, err error) {
	var o leasefdb.Options
	for range 2 {
		provider, err := leasefdb.New(db, o)
		if err != nil {
			return until, err
		}
		until, err = provider.Quarantine(ctx, name, 0)
		other := (*lease.CustomEpochError)(nil)
		if !errors.As(err, &other) || o.Lease.Services != nil {
			return until, err
		}
		o.Lease.Services = map[string]lease.ServiceConfig{name: {Layout: other.Stored}}
	}
	return until, err
}

// forget removes the members that the source has, and gives their cluster a new id: processes of the
// target would call them.
func (m *move) forget(ctx context.Context, db renewal) error {
	members, err := membership.New(db, membership.Options{})
	if err != nil {
		return err
	}
	m.result.Members, err = members.Forget(ctx)
	if errors.As(err, new(*leasefdb.StateError)) { // of a lease that the source has, too: its member is forgotten all the same
		err = nil
	}
	return err
}
