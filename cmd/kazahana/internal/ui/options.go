// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
)

// Options configure a Handler. The zero value is ready to use, and reads only.
type Options struct {
	// Access says which requests are answered.
	Access access.Options
	// Database names the database, for the heading of the page.
	Database string
	// Write lets the page change the database.
	Write bool
	// SampleEvery is how often the engine's metrics are sampled, from 10 ms. The default value is
	// a second. The last 600 samples are kept.
	SampleEvery time.Duration
	// SizeWithin is how long one measurement of sizes may take: of a directory, or of one tenant in
	// a list. The default value is two seconds, since a version can be read for five. What takes
	// longer is missing, and the page says so.
	SizeWithin time.Duration
	// MaxStores is how many stores one request looks at. The default value is 500. The page says
	// where there are more.
	MaxStores int
}

const shortest = 10 * time.Millisecond

// Validate reports all faults of the options.
func (o Options) Validate() error {
	faults := []error{o.Access.Validate()}
	if o.SampleEvery != 0 && o.SampleEvery < shortest {
		faults = append(faults, fmt.Errorf("SampleEvery: %v is less than %v", o.SampleEvery, shortest))
	}
	if o.SizeWithin < 0 {
		faults = append(faults, fmt.Errorf("SizeWithin: %v is negative", o.SizeWithin))
	}
	if o.MaxStores < 0 {
		faults = append(faults, fmt.Errorf("MaxStores: %d is negative", o.MaxStores))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.SampleEvery == 0 {
		o.SampleEvery = time.Second
	}
	if o.SizeWithin == 0 {
		o.SizeWithin = 2 * time.Second
	}
	if o.MaxStores == 0 {
		o.MaxStores = 500
	}
	return o
}
