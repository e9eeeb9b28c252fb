// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// leases are those on machine ids.
type leases struct {
	Services int `json:"services"`
	Active   int `json:"active"`
	Ended    int `json:"ended"` // whose positions are not free yet

	Incomplete bool `json:"incomplete,omitempty"` // others cannot be read
}

// leasesPath is where a persistable.DB has its leases.
var leasesPath = []string{"kazahana", "leases"}

func readLeases(ctx context.Context, db *persistable.DB) (l leases, err error) {
	// a provider creates its directory
	if exists, err := db.Layer().Exists(ctx, db.Engine(), leasesPath); err != nil || !exists {
		return l, err
	}
	provider, err := leasefdb.New(db.Engine(), leasefdb.Options{StoreOptions: leasefdb.StoreOptions{Layer: db.Layer(), Path: leasesPath}})
	if err != nil {
		return l, err
	}
	services, err := provider.Services(ctx, "", 1000)
	if err != nil {
		return l, err
	}
	l.Services = len(services)
	for _, service := range services {
		if err := l.count(ctx, provider, service); err != nil {
			return l, err
		}
	}
	return l, nil
}

// count adds the leases of a service.
func (l *leases) count(ctx context.Context, provider *leasefdb.Provider, service string) error {
	for o := (lease.ListOptions{Ended: true}); ; {
		page, err := provider.List(ctx, service, o)
		if err != nil && !lease.IsUnreadable(err) {
			return err
		}
		l.Incomplete = l.Incomplete || err != nil // of some blocks, or of the whole service
		for _, info := range page.Leases {
			if info.Active {
				l.Active++
			} else {
				l.Ended++
			}
		}
		if page.Next == "" {
			return nil
		}
		o.After = page.Next
	}
}

func (l leases) text() string {
	if l.Services == 0 {
		return "never leased"
	}
	text := fmt.Sprintf("%d leased, %d ended", l.Active, l.Ended)
	if l.Incomplete {
		text += "; others cannot be read: see kazahana doctor"
	}
	return text
}
