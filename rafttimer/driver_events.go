// SPDX-License-Identifier: Apache-2.0

package rafttimer

// offer puts a new event into the channel, and takes out what is stale or what it
// replaces. With the zero Event it only takes out. The driver's turn is held, and
// only its holder sends, so that there is always room.
func (d *Driver) offer(e Event) {
	for range len(d.events) {
		select {
		case old := <-d.events:
			if old.Kind == e.Kind {
				e = e.replace(old)
			} else if d.machine.IsCurrent(old) {
				d.events <- old
			}
		default: // a receiver was faster
		}
	}
	if e.Kind != 0 {
		d.events <- e
	}
}

// replace returns e with what an older event of its kind, which was not received,
// has to tell.
func (e Event) replace(old Event) Event {
	switch {
	case e.Kind == Heartbeat && e.Generation == old.Generation:
		e.Missed += 1 + old.Missed
	case e.Kind == Stall && e.RoleChanges == old.RoleChanges && old.Late > e.Late:
		return old
	}
	return e
}
