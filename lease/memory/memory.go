// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

// Options configure a [Provider]. The zero value grants at once, which is right
// for a program that leases only to itself.
type Options struct {
	// Server configures the granting. Its Fresh is not used: see Restarted.
	Server lease.Options
	// Restarted says that other processes may hold leases that an earlier life of
	// this process granted: nothing is granted until those have ended. Set it where
	// other processes lease from this one, as through lease/http.
	Restarted bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Provider leases from this process's memory.
type Provider struct {
	*lease.Server
	Store *Store // what it leases from
}

// New returns a provider that has granted nothing yet. It returns what
// [lease.Options.Validate] finds.
func New(options Options) (*Provider, error) {
	store := NewStore(options.Now)
	options.Server.Fresh = !options.Restarted
	server, err := lease.NewServer(store, options.Server)
	if err != nil {
		return nil, err
	}
	return &Provider{Server: server, Store: store}, nil
}

var _ lease.Store = (*Store)(nil)
