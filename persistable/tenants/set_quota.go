// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// SetQuota sets the quota of a tenant, or with the zero value removes it. A write that
// would exceed it fails with a *persistable.QuotaError; writes that make the
// tenant smaller always succeed.
//
// Each write of a tenant with a quota adds to two counters of the tenant, in its own
// transaction, so that they are exact also after conflicts and lost acknowledgements.
// It does so by atomic operations and reads them without conflicts: writers of a
// tenant do not conflict through them. Therefore the quota can be exceeded by what
// transactions that run at the same moment add together: at most one transaction's
// records for each writer. Tenants without a quota cost nothing.
//
// The first SetQuota of a tenant counts the records that are there, in many small
// transactions beside readers and writers. Until it returns, the quota bounds what is
// counted. If it is interrupted, another call, in any process, continues the count.
// A tenant that does not exist yet, or no more, is [ErrNotFound].
func (s *Set) SetQuota(ctx context.Context, name string, q Quota) error {
	err := q.Validate()
	if err == nil {
		err = s.change(ctx, name, func(tx kv.Transaction, known *tenancy.Settings, _ *directory.Directory, keys tenancy.Keys) (bool, error) {
			return applyQuota(tx, known, keys, q), nil
		})
	}
	for done := false; err == nil && !done; {
		done, err = s.countNext(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("set quota of tenant %s: %w", pathText(s.Path(name)), err)
	}
	return nil
}

// applyQuota changes the settings, and reports whether that changes anything.
func applyQuota(tx kv.Transaction, known *tenancy.Settings, keys tenancy.Keys, q Quota) bool {
	next := tenancy.Quota{Records: q.Records, Bytes: q.Bytes, State: known.Quota.State}
	switch {
	case q == (Quota{}):
		next.State = tenancy.Off
		keys.ClearUsage(tx)
	case next.State == tenancy.Off:
		next.State = tenancy.Counting
		keys.ClearUsage(tx)
	}
	changed := next != known.Quota
	known.Quota = next
	return changed
}

// Usage returns the quota of a tenant and how much of it is used: zero without a quota.
func (s *Set) Usage(ctx context.Context, name string) (u Usage, err error) {
	err = s.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := s.openNamed(ctx, tx, name)
		if err != nil {
			return err
		}
		known, keys, err := settings(ctx, tx, d)
		if err != nil {
			return err
		}
		used, _, err := keys.StartReads(tx, known.Quota.State).Await(ctx)
		u = Usage{
			Quota:   Quota{Records: known.Quota.Records, Bytes: known.Quota.Bytes},
			Records: used.Records, Bytes: used.Bytes, Counting: known.Quota.State == tenancy.Counting,
		}
		return err
	})
	return u, err
}

// countNext counts some more records of a tenant and reports whether all are counted.
func (s *Set) countNext(ctx context.Context, name string) (done bool, err error) {
	err = s.transact(ctx, func(tx kv.Transaction) error {
		d, err := s.open(ctx, tx, name)
		if err != nil {
			return err
		}
		known, keys, err := settings(ctx, tx, d)
		if err != nil {
			return err
		}
		if done = known.Quota.State != tenancy.Counting; done {
			return nil
		}
		var c count
		if c.begin, err = tx.Get(keys.Counted).Get(ctx); err != nil {
			return err
		}
		t, err := s.readTree(ctx, tx, name)
		if err != nil {
			return err
		}
		if done, err = c.run(ctx, tx, t); err != nil {
			return err
		}
		keys.AddUsage(tx, c.usage)
		if !done {
			tx.Set(keys.Counted, c.end)
			return tx.AddWriteConflictRange(kv.KeyRange{Begin: c.begin, End: c.end})
		}
		known.Quota.State = tenancy.On
		tx.Clear(keys.Counted)
		return writeSettings(ctx, tx, d, keys, known)
	})
	return done, err
}
