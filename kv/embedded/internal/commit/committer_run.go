// SPDX-License-Identifier: Apache-2.0

package commit

// Start starts two goroutines. The disk goroutine runs the second stage, so that
// no caller waits for the disk. The other one answers requests, so that the disk
// does not wait for that. When the disk fails, the disk goroutine runs once more:
// requests may wait for room in the window, and no caller may call Drive for them.
func (c *Committer) Start() {
	c.wake, c.answers, c.quit = make(chan struct{}, 1), make(chan *batch, 8), make(chan struct{})
	c.done.Go(func() {
		raised := c.fault.Raised()
		for {
			select {
			case <-c.wake:
			case <-raised:
				raised = nil
			case <-c.quit:
				return
			}
			for c.advance(false) {
			}
		}
	})
	c.answering.Go(func() {
		for b := range c.answers {
			c.answerRequests(b)
			c.decideQueued() // requests that another goroutine left because of hurry
		}
	})
}

// commitQueued commits the queued requests, until there are none or another
// goroutine holds decideMu.
func (c *Committer) commitQueued() {
	for c.hasPending() && c.decideMu.TryLock() {
		c.advanceLocked(true)
	}
}

// Drain commits the queued requests and waits for the batch on its way to the disk.
func (c *Committer) Drain() {
	for c.advance(true) {
	}
	c.diskMu.Lock() // waits for its holder
	defer c.diskMu.Unlock()
}

// Refuse makes the committer refuse requests with err from now on.
func (c *Committer) Refuse(err error) {
	c.queue.Lock()
	defer c.queue.Unlock()
	c.queue.err = err
}

// Stop makes submit refuse requests with err from now on, and waits for the
// commits under way.
func (c *Committer) Stop(err error) {
	c.Refuse(err)
	c.Drain()
	if c.quit != nil {
		close(c.quit)
		c.done.Wait()
		c.unanswered.Wait()
		close(c.answers)
		c.answering.Wait()
	}
}

// advance runs the first stage for the queued requests, then the second. If
// another goroutine holds diskMu and wait is false, it leaves out the second. It
// reports whether it ran both.
func (c *Committer) advance(wait bool) bool {
	c.hurry.Store(true)
	c.decideMu.Lock()
	c.hurry.Store(false)
	return c.advanceLocked(wait)
}

// advanceLocked is advance for a caller that holds decideMu. It releases decideMu.
func (c *Committer) advanceLocked(wait bool) bool {
	full := false
	if c.open == nil || c.log == nil {
		full, _ = c.fillBatch()
	}
	b := c.closeBatch(wait || full)
	c.decideMu.Unlock()
	if b == nil {
		return false
	}
	c.commitBatch(b)
	c.diskMu.Unlock()
	defer c.unanswered.Done()
	if c.answers == nil {
		c.answerRequests(b)
		return true
	}
	c.answers <- b
	c.wakeDisk() // rule 6
	return true
}

// closeBatch ends the open batch and locks diskMu for it. It returns nil, without
// diskMu, if there is no batch, or if diskMu is held and wait is false. The caller
// holds decideMu.
func (c *Committer) closeBatch(wait bool) *batch {
	c.addReportedVacancies()
	if c.open == nil && !c.stale {
		return nil
	}
	if wait {
		c.diskMu.Lock()
	} else if !c.diskMu.TryLock() {
		return nil
	}
	if c.open == nil {
		c.refreshView()
		c.diskMu.Unlock()
		c.wakeDisk() // rule 6
		return nil
	}
	b := c.open
	c.open, c.stale = nil, false
	c.unanswered.Add(1)
	c.resolver.Sweep(c.window.OldestReader(b.version), 2*len(b.requests)+16)
	c.sealBatch(b)
	return b
}

// refreshView gives the newest view the window's present entries and vacancies.
// No commit in the window waits for the disk. The caller holds both locks.
func (c *Committer) refreshView() {
	c.stale = false
	if c.fault.Get() == nil { // else the window may hold a commit that did not happen
		c.head.Refresh(c.window)
	}
}
