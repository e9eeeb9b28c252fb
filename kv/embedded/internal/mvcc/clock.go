// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
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
// what the database has seen; from there it follows the monotonic clock.
type clock struct {
	began time.Time
	first int64
}

func newClock(seen int64) clock {
	now := time.Now()
	first := now.UnixMicro()
	if seen > 0 {
		first = max(first, seen+RestartVersions)
	}
	return clock{began: now, first: first}
}

// version returns the version that belongs to this moment.
func (c *clock) version() int64 { return c.first + int64(time.Since(c.began)/time.Microsecond) }
