// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/directory"
)

// DefaultDuration is how long the lease of a member lasts without renewal unless
// [Options.Duration] says otherwise.
const DefaultDuration = 10 * time.Second

// Options configure a [Registry]. The zero value is ready to use.
type Options struct {
	// Duration is how long a member may not renew its lease before others take it for
	// dead, from 100 ms to an hour. It should be many times a transaction's latency, a
	// recovery of the database and a pause of the process. All members use the same. The default
	// value is DefaultDuration, 10 s.
	Duration time.Duration
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the members. All processes of a cluster use the same. The
	// default value is kazahana/members.
	Path []string
	// Logger is told of evictions and of looks that failed. The default value
	// discards.
	Logger *slog.Logger
}

const (
	minDuration = 100 * time.Millisecond
	maxDuration = time.Hour
)

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	o = o.withDefaults()
	var faults []error
	if o.Duration < minDuration || o.Duration > maxDuration {
		faults = append(faults, fmt.Errorf("membership: Duration is %v, must be from %v to %v", o.Duration, minDuration, maxDuration))
	}
	if len(o.Path) == 0 {
		faults = append(faults, errors.New("membership: Path is empty: the members need a directory of their own"))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Duration == 0 {
		o.Duration = DefaultDuration
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "members"}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
