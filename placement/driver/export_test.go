// SPDX-License-Identifier: Apache-2.0

package driver

// Waiting returns the number of requests for which resolves wait.
func (d *Driver) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiters)
}
