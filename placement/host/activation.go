// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
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

// callFactory calls the factory.
func (a *Activation) callFactory(ctx context.Context) (err error) {
	made := false
	defer func() {
		if !made {
			a.noteFailedStart()
		}
	}()
	var state any
	err = a.catchPanic("the factory", func() (err error) {
		ctx, end := a.contextFor(ctx, []placement.Key{a.Key()})
		defer end()
		state, err = a.kind.kind.open(ctx, a)
		return err
	})
	if err != nil {
		return err
	}
	made = true
	return a.noteStarted(state)
}

// noteStarted begins to run the mailbox. If the factory took too long, the mailbox already
// has the end message.
func (a *Activation) noteStarted(state any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
	a.used = a.kind.session.sinceStart()
	a.resumeMailbox()
	if a.phase != starting {
		return errGone
	}
	a.phase = active
	return nil
}

// resumeMailbox runs messages that arrived while the factory ran. The caller holds the mutex.
func (a *Activation) resumeMailbox() {
	if a.running = a.ensureExtension().head != nil; a.running {
		go a.runMailbox()
		return
	}
	a.freeExtension()
}

// noteFailedStart ends an activation that has no value.
func (a *Activation) noteFailedStart() {
	a.mu.Lock()
	a.resumeMailbox()
	a.mu.Unlock()
	a.finishEnd(placement.CauseFailed)
}

// awaitStart waits for the factory, which another command has called.
func (a *Activation) awaitStart(ctx context.Context) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		switch a.currentPhase() {
		case active:
			return nil
		case draining, gone:
			return errGone
		}
		if sleep.For(ctx, pause) != nil {
			return ctx.Err()
		}
	}
}

func (a *Activation) currentPhase() phase {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.phase
}

// Passivate ends the activation once its mailbox is empty, without waiting for it to be
// idle. If a call comes before the end it stays, and has to be asked again.
func (a *Activation) Passivate() {
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	a.passivateIfIdle()
}

// passivateIfIdle asks the driver to end the activation, if Passivate was called and nothing
// runs.
func (a *Activation) passivateIfIdle() {
	a.mu.Lock()
	now := a.leaving && !a.running && a.phase == active
	if now {
		a.leaving = false
	}
	a.mu.Unlock()
	if now {
		a.kind.session.driver.Passivate(a.Key(), a.epoch)
	}
}

// postCall puts a call into the mailbox. It returns errDraining if the activation is
// ending, so that the next one must handle the call.
func (a *Activation) postCall(m *message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase > active {
		return errDraining
	}
	more := a.ensureExtension()
	if calls := int(more.calls); calls >= a.kind.session.options.Mailbox {
		return fmt.Errorf("%w: %d calls of %s wait", ErrMailboxFull, calls, a.Key())
	}
	more.calls++
	a.used = a.kind.session.sinceStart()
	a.pushMessage(m)
	return nil
}

// pushMessage appends a message and starts a goroutine that runs it, unless one runs. The
// caller holds the mutex.
func (a *Activation) pushMessage(m *message) {
	more := a.ensureExtension()
	if more.tail == nil {
		more.head = m
	} else {
		more.tail.next = m
	}
	more.tail = m
	if !a.running {
		a.running = true
		go a.runMailbox()
	}
}

// runMailbox runs messages until there are no more.
func (a *Activation) runMailbox() {
	ended := false
	defer func() {
		if !ended { // a handler has called runtime.Goexit
			go a.runMailbox()
		}
	}()
	for m := a.popMessage(); m != nil; m = a.popMessage() {
		a.runMessage(m)
	}
	ended = true
	a.passivateIfIdle()
}

// runMessage runs a message, and counts a call as a use of the activation.
func (a *Activation) runMessage(m *message) {
	if c, ok := m.work.(*call); ok {
		defer a.noteCalled(c)
	}
	m.work.run(a)
}

// popMessage takes the next message. If it returns nil, the calling goroutine must end.
func (a *Activation) popMessage() *message {
	a.mu.Lock()
	defer a.mu.Unlock()
	more := a.ensureExtension()
	m := more.head
	if m == nil {
		a.running = false
		a.freeExtension()
		return nil
	}
	if more.head = m.next; more.head == nil {
		more.tail = nil
	}
	m.next = nil
	return m
}

// noteCalled counts a call that has ended as a use of the activation.
func (a *Activation) noteCalled(c *call) {
	a.mu.Lock()
	a.more.calls--
	a.used = a.kind.session.sinceStart()
	a.mu.Unlock()
	a.kind.session.noteCalled(a, c)
}

// Context returns a context that ends with the activation. Its cause is then
// [ErrDeactivated], or [placement.ErrActivationLost] if another owner may have the key: because the
// membership was lost or could not be renewed until its deadline, which is counted from before the
// renewal was sent, or because the fence said so. The contexts of calls and timers end with it.
func (a *Activation) Context() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.ensureExtension()
	if m.ctx == nil {
		m.ctx, m.cancel = context.WithCancelCause(a.kind.session.ctx)
		if m.cause != nil {
			m.cancel(m.cause)
		}
	}
	return m.ctx
}

// contextFor returns the context of a call, a timer or a factory. It ends with the
// activation and with the caller's context, and has the caller's deadline. The returned function
// releases it.
func (a *Activation) contextFor(caller context.Context, chain []placement.Key) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a.kind.session.ctx)
	a.setCancel(cancel)
	deadline, bounded := caller.Deadline()
	stop := context.AfterFunc(caller, func() {
		if caller.Err() != context.DeadlineExceeded || !bounded {
			cancel(context.Cause(caller))
		}
	})
	end := context.CancelFunc(func() {})
	if bounded {
		ctx, end = context.WithDeadline(ctx, deadline)
	}
	return context.WithValue(ctx, chainKey{}, chain), func() {
		stop()
		end()
		a.setCancel(nil)
		cancel(context.Canceled)
	}
}

// setCancel stores the function that ends the context of the running call.
func (a *Activation) setCancel(cancel context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.ensureExtension()
	m.stop = cancel
	if cancel != nil && m.cause != nil {
		cancel(m.cause)
	}
}
