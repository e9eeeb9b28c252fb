// SPDX-License-Identifier: Apache-2.0

package embedded

// start makes goroutines of the committer's own do what help calls for: whoever
// brings a batch to the disk waits for that, which no caller should have to.
// Another one answers meanwhile, so that the disk does not wait for it. Once the
// disk has failed nobody else may come by, for whoever waits for room in the window.
func (c *committer) start() {
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
			c.answer(b)
			c.decideQueued() // what the one who was at it has left, for the disk's sake
		}
	})
}

// work commits what is queued, until nothing is or someone else is at it.
func (c *committer) work() {
	for c.pending() && c.working.TryLock() {
		c.advanceLocked(true)
	}
}

// settle commits what is queued, and waits for whoever is at it.
func (c *committer) settle() {
	for c.advance(true) {
	}
	c.finishing.Lock() // and so wait for whoever holds it
	defer c.finishing.Unlock()
}

// stop lets nothing be committed any more, with that error, and waits for the
// commits under way.
func (c *committer) stop(err error) {
	c.queue.Lock()
	c.queue.err = err
	c.queue.Unlock()
	c.settle()
	if c.quit != nil {
		close(c.quit)
		c.done.Wait()
		c.leaving.Wait()
		close(c.answers)
		c.answering.Wait()
	}
}

// advance takes what is queued through the first stage and, unless that is busy
// and there is no time to wait, through the second. It reports whether it did.
func (c *committer) advance(wait bool) bool {
	c.hurry.Store(true)
	c.working.Lock()
	c.hurry.Store(false)
	return c.advanceLocked(wait)
}

// advanceLocked is advance for who holds working, which it releases.
func (c *committer) advanceLocked(wait bool) bool {
	full := false
	if c.open == nil || c.log == nil {
		full, _ = c.admit()
	}
	b := c.close(wait || full)
	c.working.Unlock()
	if b == nil {
		return false
	}
	c.finish(b)
	c.finishing.Unlock()
	defer c.leaving.Done()
	if c.answers == nil {
		c.answer(b)
		return true
	}
	c.answers <- b
	c.call() // somebody may have found the disk busy, and gone
	return true
}

// close ends the open batch and enters the second stage with it. It returns nil
// if there is none, or if that stage is busy and there is no time to wait.
func (c *committer) close(wait bool) *batch {
	c.takeIn()
	if c.open == nil && !c.stale {
		return nil
	}
	if wait {
		c.finishing.Lock()
	} else if !c.finishing.TryLock() {
		return nil
	}
	if c.open == nil {
		c.refresh()
		c.finishing.Unlock()
		c.call() // whoever has found the lock held has left it at that
		return nil
	}
	b := c.open
	c.open, c.stale = nil, false
	c.leaving.Add(1)
	c.resolver.sweep(max(b.version-windowVersions, c.forgotten), 2*len(b.requests)+16)
	c.seal(b)
	return b
}

// refresh lets the newest view forget what the window has forgotten. Nothing
// that is in the window awaits the disk.
func (c *committer) refresh() {
	c.stale = false
	if c.fault.Get() == nil { // else the window may hold a commit that did not happen
		c.head.replace(c.window.entries.Snapshot(), c.vacant.Snapshot(), c.window.entries.TakeCopied())
	}
}
