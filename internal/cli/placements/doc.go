// SPDX-License-Identifier: Apache-2.0

// Package placements has the commands kazahana placement, which show where virtual
// actors are, and why.
package placements
