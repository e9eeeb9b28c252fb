// SPDX-License-Identifier: Apache-2.0

package fdbkv

import (
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/kazahana-db/kazahana/kv"
)

// APIVersion is the version of FoundationDB's client interface that this package
// is written for: the behaviour that package kv describes. A program that uses
// the official binding as well selects the same one.
const APIVersion = 730

// Options adjust a client. The zero value is what [Open] uses.
type Options struct {
	// Network belongs to the whole process: the client's network thread is started
	// once. The first database that is opened decides. Another one may leave this
	// zero, which takes what there is, or say the same; anything else fails with a
	// [NetworkError].
	Network Network

	// Transactions are the defaults of the database's transactions. The next two
	// are such defaults as well.
	Transactions kv.TransactionDefaults

	// AutomaticIdempotency has commits recognized by the cluster, so that a lost
	// acknowledgement is answered by what became of the commit instead of
	// CodeCommitUnknownResult. It costs a little space for each commit. It needs
	// a cluster of 7.3 or later, where FoundationDB calls it experimental.
	AutomaticIdempotency bool
	// CausalReadRisky takes read versions with one round trip less of checks: a
	// read may miss a commit that was acknowledged during a recovery.
	CausalReadRisky bool

	// MaxWatches is how many watches may be outstanding. 0: [kv.MaxWatches].
	MaxWatches int
	// LocationCacheSize is how many places of keys the client remembers. 0: its
	// default, 100,000.
	LocationCacheSize int
	// MachineID and DatacenterID tell where the process runs; the client then
	// prefers servers that are near.
	MachineID    string
	DatacenterID string
}

// Validate reports all faults of the options, those of files that cannot be
// found included.
func (o Options) Validate() error {
	errs := []error{o.Network.Validate()}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("fdbkv: "+format, args...)) }
	if err := o.Transactions.Validate(); err != nil {
		fault("Transactions: %w", err)
	}
	for name, n := range map[string]int{"MaxWatches": o.MaxWatches, "LocationCacheSize": o.LocationCacheSize} {
		if n < 0 || n > math.MaxInt32 {
			fault("%s is %d; use 0 for the default, or at most %d", name, n, math.MaxInt32)
		}
	}
	return errors.Join(errs...)
}

// LogValue implements [slog.LogValuer]: see [TLS.LogValue].
func (o Options) LogValue() slog.Value {
	type plain Options
	o.Network.TLS = o.Network.TLS.public()
	return slog.AnyValue(plain(o))
}
