// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/kv"
)

// tenant is a directory on a store's path that has a lock or a quota.
type tenant struct {
	tenancy.Settings
	path []string
	keys tenancy.Keys
}

// settingsReads are the reads of the settings of all directories on a path.
type settingsReads struct {
	path   []string
	keys   []tenancy.Keys
	values []kv.Future[[]byte]
}

// startSettings starts to read the settings of d and of the directories above it.
func startSettings(reader kv.ReadTransaction, d *directory.Directory) settingsReads {
	r := settingsReads{path: d.Path()}
	for _, annotation := range d.Annotations(tenancy.Owner) {
		keys := tenancy.KeysOf(annotation)
		r.keys = append(r.keys, keys)
		r.values = append(r.values, reader.Get(keys.Settings))
	}
	return r
}

// await returns the directories that have settings.
func (r settingsReads) await(ctx context.Context, typ string) (all []tenant, err error) {
	for i, f := range r.values {
		value, err := f.Get(ctx)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		t := tenant{path: r.path[:i+1], keys: r.keys[i]}
		if t.Settings, err = tenancy.Decode(value); err != nil {
			return nil, fmt.Errorf("persistable: %s: directory %s: %w", typ, quotePath(t.path), err)
		}
		all = append(all, t)
	}
	return all, nil
}

// LockedError says that a record was not written, because the directory of the store
// or one above it is locked: a tenant that is being copied or exported. Nothing was
// written. Try again when the tenant is unlocked (tenants.Set.Unlock).
type LockedError struct {
	Type   string   // empty if no type is concerned
	Path   []string // of the directory that is locked
	Reason string   // as its locker gave it
}

// Error implements error.
func (e *LockedError) Error() string {
	what := ""
	if e.Type != "" {
		what = e.Type + ": "
	}
	return fmt.Sprintf("persistable: %sthe directory %s is locked against writes (%s): try again when it is unlocked", what, quotePath(e.Path), e.Reason)
}

func checkLocks(p *place, tenants []tenant) error {
	for _, t := range tenants {
		if t.Lock.ID != "" {
			return &LockedError{Type: p.typ, Path: t.path, Reason: t.Lock.Reason}
		}
	}
	return nil
}

// QuotaError says that a record was not written, because the tenant would have more
// than its quota. Nothing was written. Delete records, or raise the quota
// (tenants.Set.SetQuota).
type QuotaError struct {
	Type  string
	Path  []string // of the tenant
	What  string   // "records" or "bytes"
	Limit int64    // the quota
	Used  int64    // how much the tenant has
	More  int64    // how much the write adds
}

// Error implements error.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("persistable: %s: the directory %s has %d %s, and a quota of %d: %d more are not possible: delete records, or raise the quota",
		e.Type, quotePath(e.Path), e.Used, e.What, e.Limit, e.More)
}

// quotaReads are the reads of the usage of the tenants around a store that have a
// quota. They are empty for most stores.
type quotaReads struct {
	tenants []quotaRead
}

type quotaRead struct {
	*tenant
	reads   tenancy.Reads
	usage   tenancy.Usage
	counted []byte
}

// start starts the reads. They add no read conflicts. A write starts them twice: with
// its other reads, so that they cost no round, and before it checks the quotas, when it has the
// transaction's lock, so that it sees what other writes of the transaction have added.
func (q *quotaReads) start(tx kv.ReadTransaction, s *openStore) {
	q.tenants = q.tenants[:0]
	for i := range s.tenants {
		if t := &s.tenants[i]; t.Quota.State != tenancy.Off {
			q.tenants = append(q.tenants, quotaRead{tenant: t, reads: t.keys.StartReads(tx, t.Quota.State)})
		}
	}
}

func (q *quotaReads) await(ctx context.Context) (err error) {
	for i := range q.tenants {
		r := &q.tenants[i]
		if r.usage, r.counted, err = r.reads.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// counts reports whether a record under that key is counted at its write. While the
// records that were there before are counted, those after the last one counted are
// not: the count comes to them later. Its transaction writes to the range of keys
// that it counts, and so conflicts with a write that read before it and commits after
// it.
func (r *quotaRead) counts(key []byte) bool {
	return r.Quota.State == tenancy.On || bytes.Compare(key, r.counted) < 0
}

// check refuses more records or bytes than the quota. What makes a tenant smaller is
// never refused.
func (r *quotaRead) check(typ string, more tenancy.Usage) error {
	for _, c := range []struct {
		what              string
		limit, used, more int64
	}{
		{"records", r.Quota.Records, r.usage.Records, more.Records},
		{"bytes", r.Quota.Bytes, r.usage.Bytes, more.Bytes},
	} {
		if c.limit > 0 && c.more > 0 && c.used+c.more > c.limit {
			return &QuotaError{Type: typ, Path: r.path, What: c.what, Limit: c.limit, Used: c.used, More: c.more}
		}
	}
	return nil
}
