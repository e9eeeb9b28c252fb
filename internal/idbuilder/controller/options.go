// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// The defaults of [Options].
const (
	DefaultHeartbeat = 10 * time.Second
	DefaultTimeout   = 10 * time.Second
)

// Options configure a [Controller]. All controllers of a store use the same
// Heartbeat and Lease.
type Options struct {
	// Authorize refuses a request whose token permits nothing here: with an
	// [*api.Error], or another error, which is answered as 2001. It must be set.
	Authorize func(*http.Request) error
	// AuthorizeBalance does the same for GET /v1/controller/balance, which clients send;
	// nil means Authorize.
	AuthorizeBalance func(*http.Request) error

	// Heartbeat is the time between heartbeats of a worker, from 100 ms to an hour; 0 means 10 s.
	Heartbeat time.Duration
	// Lease is how long a worker lives without a heartbeat, from 1 s to 12 hours and at
	// least two heartbeats; 0 means three heartbeats.
	Lease time.Duration
	// Timeout bounds a request; 0 means 10 s.
	Timeout time.Duration

	// Database is the database of the store, in which controllers elect a leader; nil
	// means that they use a lease on a document of the store.
	Database kv.Database

	// Now is the clock of heartbeats and worker ids; nil means [time.Now].
	Now    func() time.Time
	Logger *slog.Logger // nil means [slog.Default]
}

func (o Options) withDefaults() Options {
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Lease == 0 {
		o.Lease = max(3*o.Heartbeat, time.Second)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.AuthorizeBalance == nil {
		o.AuthorizeBalance = o.Authorize
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	o = o.withDefaults()
	var faults []error
	if o.Authorize == nil {
		faults = append(faults, errors.New("controller: Authorize is missing"))
	}
	if o.Heartbeat < 100*time.Millisecond || o.Heartbeat > time.Hour {
		faults = append(faults, fmt.Errorf("controller: Heartbeat is %v; it must be from 100ms to 1h", o.Heartbeat))
	}
	if o.Lease < max(time.Second, 2*o.Heartbeat) || o.Lease > 12*time.Hour || o.Lease%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("controller: Lease is %v; it must be from 1s and two heartbeats, %v, to 12h in whole milliseconds", o.Lease, max(time.Second, 2*o.Heartbeat)))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("controller: Timeout is %v; it must not be negative", o.Timeout))
	}
	return errors.Join(faults...)
}
