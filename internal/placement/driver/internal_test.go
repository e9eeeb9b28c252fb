// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// TestBusyOnlyForIdleness: an executor can refuse to end an idle activation that was used. If
// the activation ends for another reason, the refusal is an error.
func TestBusyOnlyForIdleness(t *testing.T) {
	used := time.Unix(5, 0)
	busy := fmt.Errorf("wrapped: %w", &BusyError{UsedAt: used})
	for cause := placement.CauseIdle; cause <= placement.CauseStop; cause++ {
		r := deactivateResult(core.Deactivate{RequestID: 1, Epoch: 2, Cause: cause}, busy)
		refused := r.UsedAt.Equal(used) && r.Err == nil
		if failed := r.UsedAt.IsZero() && errors.Is(r.Err, busy); refused != (cause == placement.CauseIdle) || failed == refused {
			t.Errorf("cause %v: got %+v", cause, r)
		}
	}
	if r := deactivateResult(core.Deactivate{Cause: placement.CauseIdle}, &BusyError{}); r.Err == nil {
		t.Error("a refusal that names no time is not an error")
	}
}

// Waiting returns the number of requests for which resolves wait.
func (d *Driver) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiters)
}
