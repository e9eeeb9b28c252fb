// SPDX-License-Identifier: Apache-2.0

package identity

// Failures returns how many errors are kept.
func (p *Partition) Failures() int { return len(p.failures) }
