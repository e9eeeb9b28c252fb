// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"cmp"
	"context"
	"errors"
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
	unread  error // what cannot be read: the error of the command, at its end
}

// topology reads the topology, without the members that cannot be read.
func (p *actors) topology(ctx context.Context) (placement.Topology, error) {
	t, err := p.members.Topology(ctx, p.db)
	if t.Version > 0 && errors.As(err, new(*membership.CorruptError)) {
		p.unread, err = err, nil
	}
	return t, err
}

// usedTopology is topology, with an error if no member has ever joined.
func (p *actors) usedTopology(ctx context.Context) (placement.Topology, error) {
	t, err := p.topology(ctx)
	if err == nil && t.Version == 0 {
		err = fmt.Errorf("no host has ever joined below the directory %q of this database; --path must be the Options.Path of its hosts", p.path)
	}
	return t, err
}

// isAlive reports whether a row has an owner that is alive, by its lease: its own row may be one that
// cannot be read.
func (p *actors) isAlive(ctx context.Context, row kvstore.Row) (bool, error) {
	if row.Free() {
		return false, nil
	}
	return kv.ReadTransact(ctx, p.db, func(tx kv.ReadTransaction) (bool, error) {
		return p.members.StartAlive(ctx, tx, row.Owner)(ctx)
	})
}

// rowsPerRead is how many rows one transaction reads.
const rowsPerRead = 1000

// eachRow calls do with each row that can be read, or each of a kind.
func (p *actors) eachRow(ctx context.Context, kind string, do func(kvstore.Row) error) error {
	for after := (placement.Key{Kind: kind}); ; {
		rows, err := p.rows.Rows(ctx, after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if kind != "" && r.Key.Kind != kind {
				return nil
			}
			if r.Err != nil {
				p.unread = cmp.Or(p.unread, r.Err) // the first one: there may be many
				continue
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
func (p *actors) findActor(ctx context.Context, key placement.Key) (w whereabouts, err error) {
	row, err := p.rows.Row(ctx, key)
	if err != nil {
		return w, err
	}
	entry, err := p.rows.Load(ctx, key)
	if err != nil {
		return w, err
	}
	topology, err := p.topology(ctx)
	if err != nil {
		return w, err
	}
	alive, err := p.isAlive(ctx, row)
	if err != nil {
		return w, err
	}
	w = whereabouts{rowLine: newRowLine(row), Topology: topology.Version, Strategy: placement.Rendezvous{}.Name()}
	w.State = stateOf(row, entry, alive)
	if w.State == stateActive {
		w.Since = &entry.ObservedAt
	}
	if err := w.chooseMember(key, topology); err != nil {
		return w, err
	}
	w.Reason = w.explainPlace(row)
	return w, nil
}
