// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// deadline is the timeout of a transaction, which most do not have.
type deadline struct {
	began   time.Time   // what it counts from
	expires time.Time   // zero: never
	timer   *time.Timer // strikes then
}

// setExpiry arranges for the timeout to strike. t.mu is held.
func (t *Transaction) setExpiry() {
	t.stopTimer()
	d := t.deadline
	if d == nil {
		return
	}
	d.expires = time.Time{}
	if t.settings.timeout == 0 {
		return
	}
	d.expires = d.began.Add(t.settings.timeout)
	d.timer = time.AfterFunc(time.Until(d.expires), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.checkTimeout() // unless the time has been changed
	})
}

// checkTimeout kills the transaction if its time is over.
func (t *Transaction) checkTimeout() {
	if d := t.deadline; d != nil && t.deadErr == nil && !d.expires.IsZero() && !time.Now().Before(d.expires) {
		t.failUntilReset(kv.NewError(kv.CodeTransactionTimedOut, "the timeout of %v is over", t.settings.timeout))
	}
}

func (t *Transaction) stopTimer() {
	if t.deadline != nil && t.deadline.timer != nil {
		t.deadline.timer.Stop()
		t.deadline.timer = nil
	}
}
