// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// idle are timers that never fire, for groups that etcd/raft's own timers run.
type idle struct{ clock *clock }

func (i idle) BecomeFollower() error  { return nil }
func (i idle) BecomeCandidate() error { return nil }
func (i idle) BecomeLeader() error    { return nil }
func (i idle) Contact()               {}
func (i idle) Now() time.Duration     { return i.clock.now() }
