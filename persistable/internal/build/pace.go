// SPDX-License-Identifier: Apache-2.0

package build

import (
	"sync"
	"time"
)

// pace limits the bytes that all workers of a process read and write in a second. It
// is safe for concurrent use.
type pace struct {
	perSecond int // 0: no limit
	now       func() time.Time

	mu  sync.Mutex
	due time.Time // when what was taken so far is paid for
}

// take notes n bytes and returns how long the worker that took them has to wait
// before its next batch.
func (p *pace) take(n int) time.Duration {
	if p.perSecond == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(time.Duration(float64(n) / float64(p.perSecond) * float64(time.Second)))
	return p.due.Sub(now)
}
