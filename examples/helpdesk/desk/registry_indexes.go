// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable"
)

// indexes yields the indexes of all stores: the registry's, then those of each tenant.
func (r *Registry) indexes(ctx context.Context) iter.Seq2[persistable.Indexes, error] {
	return func(yield func(persistable.Indexes, error) bool) {
		if !yield(r.tenants.Indexes(), nil) {
			return
		}
		for t, err := range r.tenants.Scan().All(ctx) {
			if err != nil {
				yield(persistable.Indexes{}, err)
				return
			}
			d := newDesk(r, t)
			for _, x := range []persistable.Indexes{d.tickets.Indexes(), d.comments.Indexes(), d.notices.Indexes()} {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
}

// BuildIndexes builds, tenant by tenant, the indexes that an earlier program did not have.
// All programs can read and write during the build. If it is interrupted, another call
// continues it; several processes may call it at once, and share the work.
func (r *Registry) BuildIndexes(ctx context.Context) error {
	for x, err := range r.indexes(ctx) {
		if err != nil {
			return err
		}
		if err := x.Build(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Verify compares all records with their index entries, and returns the number of records
// and the faults.
func (r *Registry) Verify(ctx context.Context) (n int, faults []persistable.Fault, err error) {
	for x, err := range r.indexes(ctx) {
		if err != nil {
			return n, faults, err
		}
		report, err := x.Verify(ctx)
		if err != nil {
			return n, faults, err
		}
		n, faults = n+report.Records, append(faults, report.Faults...)
	}
	return n, faults, nil
}
