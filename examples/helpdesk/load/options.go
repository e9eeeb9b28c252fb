// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"time"
)

// Options say what to ask of which service.
type Options struct {
	API, Admin string // addresses, such as http://localhost:8080
	Token      string // the operator's
	Tenants    int    // that the run adds; the default value is 1,000
	Tickets    int    // that each tenant creates; the default value is 3
	Workers    int    // tenants that work at the same time; the default value is 32
	Prefix     string // of the names of tenants; the default value is one that no other run has
}

// Validate reports all faults.
func (o Options) Validate() error {
	var faults []error
	if o.API == "" || o.Admin == "" {
		faults = append(faults, errors.New("load: API and Admin: want the addresses of the service"))
	}
	if o.Tenants < 0 || o.Tickets < 0 || o.Workers < 0 {
		faults = append(faults, errors.New("load: Tenants, Tickets and Workers: want no negative number"))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Tenants == 0 {
		o.Tenants = 1000
	}
	if o.Tickets == 0 {
		o.Tickets = 3
	}
	if o.Workers == 0 {
		o.Workers = 32
	}
	if o.Prefix == "" {
		o.Prefix = time.Now().UTC().Format("load-20060102-150405-")
	}
	return o
}
