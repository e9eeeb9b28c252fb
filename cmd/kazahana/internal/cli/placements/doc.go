// SPDX-License-Identifier: Apache-2.0

// Package placements has the commands kazahana placement, which show where virtual
// actors are, and why, and make a copy of a database forget its members.
package placements
