// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/persistable/trace"
)

// Options configure a [DB]. The zero value is ready to use.
type Options struct {
	// Layer is the directory layer in which the types' directories are. The
	// default value is directory.Root().
	Layer *directory.Layer
	// SystemPath is the directory of the DB's own keys, such as the key that
	// authenticates page tokens. The default value is kazahana/persistable.
	SystemPath []string
	// PageSize is the number of records on a page of a query without a Limit.
	// The default value is 100.
	PageSize int
	// BuildBatch is the maximum number of records that Indexes().Build and Verify read
	// in a transaction; they read fewer if records are large or often written. The
	// default value is 500.
	BuildBatch int
	// CacheSize is the maximum number of opened directories in the cache. The
	// default value is 10,000.
	CacheSize int
	// Tracer is told of the operations of the DB: see package trace. Without one the DB
	// does nothing for it.
	Tracer trace.Tracer
	// ExplainConflicts lets a transaction that gives up because of conflicts say which
	// records, indexes and tenants others have changed: a *[ConflictError]. A Tracer is
	// told of all conflicts, also without it. The engine then reports the keys of each
	// conflict, which costs a little of each commit.
	ExplainConflicts bool
	// WatchPoll is how often Store.Watch reads a record that it cannot watch. The
	// default value is a second.
	WatchPoll time.Duration
	// ReadOnly opens a DB that writes nothing, also on an engine that is open for reading
	// only: Transact and all writes fail with [ErrReadOnly], and Transact of a function
	// that only reads does, too. If no DB has opened the database before, page tokens are
	// good for this DB only. Machine ids are not leased: IDs must be Off. The default
	// value is false.
	ReadOnly bool
	// IDs say where the ids of new records come from. The default value leases
	// machine ids from the database.
	IDs IDOptions
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	for name, n := range map[string]int{"PageSize": o.PageSize, "BuildBatch": o.BuildBatch, "CacheSize": o.CacheSize} {
		if n < 0 {
			faults = append(faults, fmt.Errorf("persistable: Options.%s is %d, must not be negative", name, n))
		}
	}
	if o.WatchPoll < 0 {
		faults = append(faults, fmt.Errorf("persistable: Options.WatchPoll is %v, must not be negative", o.WatchPoll))
	}
	if o.ReadOnly && !o.IDs.Off {
		faults = append(faults, errors.New("persistable: Options is ReadOnly, but IDs would be leased, which writes: set IDs.Off"))
	}
	return errors.Join(append(faults, o.IDs.validate())...)
}

func (o Options) withDefaults() Options {
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.SystemPath == nil {
		o.SystemPath = []string{"kazahana", "persistable"}
	}
	if o.IDs.Leases.Path == nil {
		o.IDs.Leases.Path = []string{"kazahana", "leases"}
	}
	o.PageSize = orDefault(o.PageSize, 100)
	o.BuildBatch = orDefault(o.BuildBatch, 500)
	o.CacheSize = orDefault(o.CacheSize, 10_000)
	if o.WatchPoll == 0 {
		o.WatchPoll = time.Second
	}
	return o
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}
