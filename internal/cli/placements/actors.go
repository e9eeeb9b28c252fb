// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// actors are the virtual actors of a database.
type actors struct {
	path    string
	db      kv.Database
	members *membership.Registry
	rows    *kvstore.Store
}

// checkUsed returns an error if no member has ever joined.
func (p actors) checkUsed(ctx context.Context) error {
	t, err := p.members.Topology(ctx, p.db)
	if err != nil || t.Version > 0 {
		return err
	}
	return fmt.Errorf("no host has ever joined below the directory %q of this database; --path must be the Options.Path of its hosts", p.path)
}

// rowsPerRead is how many rows one transaction reads.
const rowsPerRead = 1000

// eachRow calls do with each row, or each of a kind.
func (p actors) eachRow(ctx context.Context, kind string, do func(kvstore.Row) error) error {
	for after := (placement.Key{Kind: kind}); ; {
		rows, err := p.rows.Rows(ctx, after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if kind != "" && r.Key.Kind != kind {
				return nil
			}
			if err := do(r); err != nil {
				return err
			}
		}
		if len(rows) < rowsPerRead {
			return nil
		}
		after = rows[len(rows)-1].Key
	}
}

// findActor reads where the actor of a key is, and why.
func (p actors) findActor(ctx context.Context, key placement.Key) (w whereabouts, err error) {
	row, err := p.rows.Row(ctx, key)
	if err != nil {
		return w, err
	}
	entry, err := p.rows.Load(ctx, key)
	if err != nil {
		return w, err
	}
	topology, err := p.members.Topology(ctx, p.db)
	if err != nil {
		return w, err
	}
	w = whereabouts{rowLine: newRowLine(row), Topology: topology.Version, Strategy: placement.Rendezvous{}.Name()}
	w.State = stateOf(row, entry, topology)
	if w.State == stateActive {
		w.Since = &entry.ObservedAt
	}
	if err := w.chooseMember(key, topology); err != nil {
		return w, err
	}
	w.Reason = w.explainPlace(row)
	return w, nil
}
