// SPDX-License-Identifier: Apache-2.0

package rafttimer

// offerEvent puts a new event into the channel, and takes out what is stale or what it
// replaces. With the zero Event it only takes out. The driver's turn is held, and
// only its holder sends, so that there is always room.
func (d *Driver) offerEvent(e Event) {
	for range len(d.events) {
		select {
		case old := <-d.events:
			if old.Kind == e.Kind {
				e = e.mergeWith(old)
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
