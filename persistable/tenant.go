// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/sentinel"
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
			return nil, fmt.Errorf("persistable: %s: directory %s: %w", typ, tenancy.QuotePath(t.path), err)
		}
		all = append(all, t)
	}
	return all, nil
}

func checkLocks(p *place, tenants []tenant) error {
	for _, t := range tenants {
		if t.Lock.ID != "" {
			return tenancy.Locked(p.typ, t.path, t.Lock.Reason)
		}
	}
	return nil
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
			return sentinel.Mark(ErrQuota, fmt.Errorf("persistable: %s: the directory %s has %d %s, and a quota of %d: %d more are not possible: delete records, or raise the quota",
				typ, tenancy.QuotePath(r.path), c.used, c.what, c.limit, c.more))
		}
	}
	return nil
}
