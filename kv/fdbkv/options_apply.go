// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
)

// applyTo sets the database's options.
func (o Options) applyTo(d fdb.DatabaseOptions) error {
	type option struct {
		name  string
		value int64
		set   func(int64) error
	}
	t := o.Transactions
	on := func(set func() error) func(int64) error { return func(int64) error { return set() } }
	for _, s := range []option{
		{"Timeout", t.Timeout.Milliseconds(), d.SetTransactionTimeout},
		{"RetryLimit", int64(t.RetryLimit), d.SetTransactionRetryLimit},
		{"MaxRetryDelay", t.MaxRetryDelay.Milliseconds(), d.SetTransactionMaxRetryDelay},
		{"SizeLimit", int64(t.SizeLimit), d.SetTransactionSizeLimit},
		{"ReportConflictingKeys", one(t.ReportConflictingKeys), on(d.SetTransactionReportConflictingKeys)},
		{"AutomaticIdempotency", one(o.AutomaticIdempotency), on(d.SetTransactionAutomaticIdempotency)},
		{"CausalReadRisky", one(o.CausalReadRisky), on(d.SetTransactionCausalReadRisky)},
		{"MaxWatches", int64(o.MaxWatches), d.SetMaxWatches},
		{"LocationCacheSize", int64(o.LocationCacheSize), d.SetLocationCacheSize},
		{"MachineID", int64(len(o.MachineID)), on(func() error { return d.SetMachineId(o.MachineID) })},
		{"DatacenterID", int64(len(o.DatacenterID)), on(func() error { return d.SetDatacenterId(o.DatacenterID) })},
	} {
		if s.value == 0 {
			continue
		}
		if err := s.set(s.value); err != nil {
			return fmt.Errorf("fdbkv: setting the option %s: %w", s.name, fromBinding(err))
		}
	}
	return nil
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
