// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"testing/synctest"
)

// TestSendNeverWaits sends more frames than fit into a queue that nothing reads, in a bubble that
// fails if a goroutine waits for ever.
func TestSendNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unreachable := make(chan uint64, 1)
		p := &peer{id: 2, queue: make(chan []byte, queueLength), unreachable: unreachable}
		for range queueLength {
			p.send(nil)
		}
		if len(unreachable) != 0 {
			t.Error("a loss is reported before there is one")
		}
		for range 3 {
			p.send(nil)
		}
		if <-unreachable != 2 {
			t.Error("the loss of another node is reported")
		}
	})
}
