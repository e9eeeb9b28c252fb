// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"errors"
	"fmt"
	"time"
)

// Options configure a store. All but URL have useful zero values.
type Options struct {
	// URL of the database: mysql://user:password@host:port/database, with the
	// parameters ssl-mode (disabled, preferred, required, verify_ca,
	// verify_identity; preferred if there is none), ssl-ca (a file with the
	// authority's certificate) and socket (the path of a Unix socket, instead of
	// host and port). Errors do not show it.
	URL string
	// MaxConnections of this process to the server. The default value is 10.
	MaxConnections int
	// ConnectTimeout is for how long an attempt to connect may take. The default
	// value is 5 s.
	ConnectTimeout time.Duration
	// CallTimeout is for how long a call may take if its context does not end
	// before. The default value is 10 s.
	CallTimeout time.Duration
	// InitTimeout is the same for Init, which may wait for a migration by
	// another process. The default value is 1 min.
	InitTimeout time.Duration
	// AcceptLoss lets Init accept a server that may lose what it has acknowledged
	// when its machine crashes. Numbers may then be given twice.
	AcceptLoss bool
}

func (o Options) withDefaults() Options {
	if o.MaxConnections == 0 {
		o.MaxConnections = 10
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 10 * time.Second
	}
	if o.InitTimeout == 0 {
		o.InitTimeout = time.Minute
	}
	return o
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	_, err := parse(o.URL)
	if o.MaxConnections < 0 || o.MaxConnections > 10_000 {
		err = errors.Join(err, fmt.Errorf("mysql: MaxConnections is %d, allowed are 1 to 10000, and 0 for 10", o.MaxConnections))
	}
	for _, timeout := range []struct {
		name  string
		value time.Duration
	}{{"ConnectTimeout", o.ConnectTimeout}, {"CallTimeout", o.CallTimeout}, {"InitTimeout", o.InitTimeout}} {
		if timeout.value < 0 {
			err = errors.Join(err, fmt.Errorf("mysql: %s is %v, allowed are positive durations, and 0 for the default value", timeout.name, timeout.value))
		}
	}
	return err
}
