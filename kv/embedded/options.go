// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options adjust a durable database. The zero value is what [Open] uses.
type Options struct {
	// NoSync acknowledges commits before they are on the disk. A crash of the
	// process loses none of them; a crash of the machine may lose the last
	// second, whole commits and the newest only. For data that can be made again.
	NoSync bool

	// CacheSize is the memory, in bytes, for what was read from the disk lately.
	// 0: 64 MB. It does not bound the memory for the commits of the last seconds.
	CacheSize int64

	// FS is the file system that the database lives in. nil: the operating
	// system's. Tests use one that crashes or fails.
	FS vfs.FS

	// The rest is for tests.
	window      int64 // age, in versions, at which commits move to the base
	segmentSize int64 // of the log
	flushAt     int64 // size of the log
	noAbsorb    bool  // commits move to the base when the test says so
}

const (
	defaultCacheSize   = 64 << 20
	defaultSegmentSize = 16 << 20
	defaultFlushAt     = 64 << 20
)

// Validate reports all faults of the options.
func (o Options) Validate() error {
	var errs []error
	if o.CacheSize < 0 {
		errs = append(errs, fmt.Errorf("embedded: CacheSize is %d; use 0 for the default or a number of bytes", o.CacheSize))
	}
	return errors.Join(errs...)
}

// withDefaults returns the options with every zero replaced.
func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value *int64
		other int64
	}{
		{&o.CacheSize, defaultCacheSize},
		{&o.window, windowVersions},
		{&o.segmentSize, defaultSegmentSize},
		{&o.flushAt, defaultFlushAt},
	} {
		if *d.value == 0 {
			*d.value = d.other
		}
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o
}
