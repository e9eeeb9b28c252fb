// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/internal/uptime"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// campaign is one campaign of a candidate, and the term that it wins. Its
// goroutine, that of Run, never blocks for long: each transaction runs in a
// goroutine of its own, one at a time, so that no deadline is missed.
type campaign struct {
	*Election
	candidate *candidate.Candidate
	request   string // the RequestID of its claims
	self      registration

	origin time.Time // time zero
	uptime uptime.Clock
	slept  time.Duration // how long the machine slept since origin, as far as the candidate was told
	timer  *time.Timer

	doing   candidate.Action
	outcome chan func(now time.Duration) // of what is under way
	actions context.Context              // of actions
	cancel  context.CancelFunc

	watch    kv.Future[struct{}]
	watching bool           // watch may fire
	grant    leasefdb.Grant // once the candidate leads

	sweeper  sweeper
	sweeping atomic.Bool
	sweeps   sync.WaitGroup

	vacant time.Duration // how long there was no leader at noted
	noted  time.Duration // when it was
	late   int           // renewals that were noted as late
	failed error         // why it cannot go on
}
