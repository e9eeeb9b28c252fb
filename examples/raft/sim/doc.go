// SPDX-License-Identifier: Apache-2.0

// Package sim runs a Raft group in virtual time, and reports violations of Raft's
// promises.
//
// Each node is a core.Core with a disk of its own and a rafttimer.Machine with the
// node's clock. Clocks drift, and jump forwards and backwards. Nodes are paused, as
// by SIGSTOP, and suspended, as a laptop is; they crash between any two steps of
// saving and sending, and restart with what their disks have. The network loses,
// delays, reorders and duplicates messages, and is partitioned, sometimes in one
// direction only. All choices come from one seed: the same seed gives the same run.
//
// The oracle sees all nodes at once. It reports a [Violation] if
//
//   - two nodes lead in one term,
//   - two nodes apply different entries at one index, or a leader lacks an entry that was
//     committed in an earlier term, or two logs agree on an entry and not on those before it,
//   - a read may be answered without a write that was known to be committed when it began,
//   - a node starts an election of which rafttimer knows nothing,
//   - no leader is followed by all nodes within a bound after all faults have ended, or a
//     leader that is followed by all nodes does not stay.
package sim
