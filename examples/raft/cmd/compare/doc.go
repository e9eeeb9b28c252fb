// SPDX-License-Identifier: Apache-2.0

// Command compare prints how fast five simulated nodes replace a leader that has crashed, with
// the timers of package rafttimer and with etcd/raft's own ticks, in the same run, under the
// same faults and seeds. Times are virtual, so that they do not depend on the machine; the same
// flags print the same table.
//
//	go run ./cmd/compare            # 2,000 crashes for each figure
//	go run ./cmd/compare -runs 100
package main
