// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// Options say where a log is and how it is written.
type Options struct {
	FS          vfs.FS
	Dir         string
	Lazy        bool  // do not sync each frame
	SegmentSize int64 // beyond which a new segment begins
}

// End is how far a log goes. The zero value is no end.
type End struct {
	Segment uint64 // the newest; it has no frames
	Version int64  // of the newest commit
}

// Replay says what of a log is read, and what is known of it.
type Replay struct {
	Above         int64                                    // only commits of higher versions are given to apply
	Apply         func(version int64, m mutation.Mutation) // is given the mutations in order
	Closed        End                                      // where the log ended when it was closed last
	Must          bool                                     // there is a log: a folder without one is damaged
	Old           bool                                     // the newest segment may be of format 1: a crash may have torn its header
	BeforeSegment func(size int64) error                   // unless nil, called before a segment of that size is read
}
