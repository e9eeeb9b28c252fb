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
// counted. If it is interrupted, another call, in any process, continues the count. The
// records are also counted anew where a directory comes into the tenant or leaves it:
// persistable.DB.RemoveDirectory, and Copy, Import and Delete of tenants in this one.
// What comes in so is not refused, and may exceed the quota.
// A tenant that does not exist yet, or no more, is [ErrNotFound].
func (s *Set) SetQuota(ctx context.Context, name string, q Quota) error {
	err := q.Validate()
	if err == nil {
		err = s.change(ctx, name, func(tx kv.Transaction, known *tenancy.Settings, _ *directory.Directory, keys tenancy.Keys) (bool, error) {
			return applyQuota(tx, known, keys, q), nil
		})
	}
	if err == nil {
		err = missingError(tenancy.Count(ctx, s.transact, s.layer, s.Path(name)))
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
		known, keys, err := tenancy.Read(ctx, tx, d)
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
