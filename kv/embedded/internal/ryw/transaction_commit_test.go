// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// TestUnattended commits and does not wait: a timer drives a commit that is still queued.
// One that is over must not drive those of others, which may wait to be made together.
func TestUnattended(t *testing.T) {
	for name, queues := range map[string]bool{"queued": true, "over": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &fakeEngine{view: newFakeView(nil, false), queues: queues}
				tx := NewClient(e, kv.TransactionDefaults{}).Begin()
				tx.Set([]byte("key"), nil)
				tx.CommitAsync()
				time.Sleep(2 * Unattended)
				synctest.Wait()
				if driven := e.drives == 1; driven != queues || len(e.queued) > 0 {
					t.Errorf("driven %d times, %d commits are queued", e.drives, len(e.queued))
				}
			})
		})
	}
}
