// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"fmt"
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

// checkTimeout kills the transaction if its time is over. A commit that is under way
// goes its way.
func (t *Transaction) checkTimeout() {
	if t.deadErr != nil || !t.hasTimeout() || time.Now().Before(t.deadline.expires) {
		return
	}
	var err error = kv.NewError(kv.CodeTransactionTimedOut, "the timeout of %v is over", t.settings.timeout)
	if t.attempt.isUnderWay() {
		err = fmt.Errorf("embedded: the commit goes on: %w: %w", kv.ErrOutcomeUnknown, err)
	}
	t.failUntilReset(err)
}

// hasTimeout reports whether a timeout will end the transaction.
func (t *Transaction) hasTimeout() bool { return t.deadline != nil && !t.deadline.expires.IsZero() }

func (t *Transaction) stopTimer() {
	if t.deadline != nil && t.deadline.timer != nil {
		t.deadline.timer.Stop()
		t.deadline.timer = nil
	}
}
