// SPDX-License-Identifier: Apache-2.0

package driver

// Waiting returns for how many requests resolves are entered as waiting.
func (d *Driver) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiters)
}
