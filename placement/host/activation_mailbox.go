// SPDX-License-Identifier: Apache-2.0

package host

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
		return &MailboxFullError{Key: a.Key(), Waiting: calls}
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
