// SPDX-License-Identifier: Apache-2.0

// Package strategy has strategies of placement besides rendezvous hashing. Each can
// have another strategy, which chooses if it has no preference.
package strategy
