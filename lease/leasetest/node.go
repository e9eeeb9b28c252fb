// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// node is a server of the store, as clients see it, with a clock that may be
// off, and a monotonic clock that stands still while the machine is paused.
type node struct {
	idgen.LeaseProvider
	server *lease.Server
	off    atomic.Int64 // milliseconds
	paused atomic.Int64 // milliseconds
}
