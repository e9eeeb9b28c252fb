// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

const (
	// WindowVersions is the age, in versions, beyond which nothing is read or
	// committed.
	WindowVersions = int64(kv.MaxTransactionAge/time.Second) * kv.VersionsPerSecond

	// RestartVersions is the least distance between the versions before and
	// after a restart, as FoundationDB's recovery has it.
	RestartVersions = 100 * kv.VersionsPerSecond

	// FreshVersions is the age after which a read version is renewed although
	// nothing was committed.
	FreshVersions = kv.VersionsPerSecond / 10
)

// clock turns time into versions: one a microsecond. It starts at the wall
// clock's microseconds, so that versions grow over restarts, but never below
// what the database has seen; from there it follows the monotonic clock. It is safe for
// concurrent use once it has started.
type clock struct {
	began time.Time
	first atomic.Int64 // the version at began
}

func (c *clock) start(seen int64) {
	c.began = time.Now()
	first := c.began.UnixMicro()
	if seen > 0 {
		first = max(first, seen+RestartVersions)
	}
	c.first.Store(first)
}

// version returns the version that belongs to this moment.
func (c *clock) version() int64 { return c.first.Load() + c.sinceStart() }

func (c *clock) sinceStart() int64 { return int64(time.Since(c.began) / time.Microsecond) }

// advance makes all later versions higher than above. One goroutine at a time may call it.
func (c *clock) advance(above int64) {
	c.first.Store(max(c.first.Load(), above+1-c.sinceStart()))
}
