// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

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

// checkQuotas reads the usage of each tenant with a quota, and returns a *[QuotaError]
// if the write would make it too much.
func (w *write) checkQuotas(ctx context.Context) error {
	w.quotas.start(w.t.writer, w.store)
	if err := w.quotas.await(ctx); err != nil {
		return err
	}
	for i := range w.quotas.tenants {
		if err := w.quotas.tenants[i].check(w.Type, w.moreUsage()); err != nil {
			return err
		}
	}
	return nil
}

// countUsage adds what the write changes to the usage of each tenant with a quota.
func (w *write) countUsage() {
	for i := range w.quotas.tenants {
		if r := &w.quotas.tenants[i]; r.counts(w.sc.key) {
			r.keys.AddUsage(w.t.writer, w.moreUsage())
		}
	}
}

// moreUsage returns what the write adds to the usage; negative numbers for less.
func (w *write) moreUsage() (u tenancy.Usage) {
	if !w.isNew() {
		u.Records--
		u.Bytes -= int64(format.HeaderSize + len(w.old.Payload))
	}
	if w.v != nil {
		u.Records++
		u.Bytes += int64(len(w.sc.value))
	}
	return u
}

// counts reports whether a record under that key is counted at its write. While the
// records that were there before are counted, those behind the last one counted are
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
