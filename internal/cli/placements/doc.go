// SPDX-License-Identifier: Apache-2.0

// Package placements is the commands kazahana placement: they show where virtual
// actors are, and why.
package placements
