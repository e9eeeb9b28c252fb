// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Activation is one life of a virtual actor in this process: from its factory to
// its Deactivate. It runs one call or timer at a time, in the order in which they arrive,
// and has a goroutine only while there is something to run. All methods are safe for
// concurrent use.
type Activation struct {
	kind  *activations // those of its kind and session
	id    string
	epoch int64
	state any // what the factory returned

	next *Activation // of the same bucket, see activations

	mu      sync.Mutex
	more    *extension // what an idle activation does not need; nil: nothing of it
	used    uint32     // when a call began or ended, in units of usedUnit since the session began
	phase   phase
	running bool // the factory runs, or a goroutine has the mailbox
	leaving bool // it is to be passivated once the mailbox is empty
}

// usedUnit is the precision with which an activation knows when it was used. With 32
// bits the time is right for sessions of up to 497 days.
const usedUnit = 10 * time.Millisecond

type phase uint8

const (
	starting phase = iota // the factory runs
	active
	draining // the mailbox takes no more; its end is the last message
	gone
)

// extension is the part of an [Activation] that it has only while something runs or waits.
type extension struct {
	head, tail *message
	calls      int32                   // that wait or run
	stop       context.CancelCauseFunc // of the context of what runs, if that has one

	ctx    context.Context // what Context returns, once it was asked for
	cancel context.CancelCauseFunc
	cause  error // with which contexts end, if they have
	timers map[*Timer]struct{}
	ending *endMessage
}

// isIdle reports whether the extension has nothing that the activation needs.
func (m *extension) isIdle() bool {
	return m.head == nil && m.calls == 0 && m.stop == nil && m.ctx == nil && m.cause == nil && len(m.timers) == 0 && m.ending == nil
}

// extensions recycles extensions.
var extensions = sync.Pool{New: func() any { return new(extension) }}

// Key returns the key.
func (a *Activation) Key() placement.Key { return placement.Key{Kind: a.kind.kind.name, ID: a.id} }

// Epoch returns the epoch: greater than that of every activation of the key before,
// wherever that was.
func (a *Activation) Epoch() int64 { return a.epoch }

// Owner returns the member that has the activation: this process, in the incarnation that it had
// when it claimed the key.
func (a *Activation) Owner() placement.Owner { return a.kind.session.owner }

// Fence returns the condition that no other owner has the key: for
// persistable's DB.Under, and for [leasefdb.Fence.Under]. Once another owner has claimed the key,
// commits under the fence fail with a [leasefdb.ErrLeaseLost], which is also a
// [placement.ErrActivationLost], and the activation ends. The fence uses no clock. It reads one
// key, which calls do not write.
func (a *Activation) Fence() leasefdb.Fence {
	return a.kind.session.fenceOf(a.Key(), a.epoch)
}

// ensureExtension returns the extension. The caller holds the mutex.
func (a *Activation) ensureExtension() *extension {
	if a.more == nil {
		a.more = extensions.Get().(*extension)
	}
	return a.more
}

// freeExtension recycles the extension of an idle activation. The caller holds the mutex.
func (a *Activation) freeExtension() {
	if m := a.more; m != nil && m.isIdle() {
		a.more = nil
		*m = extension{}
		extensions.Put(m)
	}
}

// usedSince reports whether there were calls after a time, and when the last was.
// The caller holds the mutex.
func (a *Activation) usedSince(since time.Time) (time.Time, bool) {
	s := a.kind.session
	if a.more != nil && a.more.calls > 0 {
		return time.Now(), true
	}
	used := s.began.Add(time.Duration(a.used) * usedUnit)
	return used, used.After(since)
}
