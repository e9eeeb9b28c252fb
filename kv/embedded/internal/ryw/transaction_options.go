// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// settings are a transaction's options.
type settings struct {
	rywDisabled      bool
	snapshotRYW      int // reads through Snapshot see own writes while it is positive
	noWriteConflict  bool
	readSystem       bool
	writeSystem      bool
	bypassUnreadable bool
	lenientCommit    bool // use during a commit does not spoil it
	causalWriteRisky bool
	idempotent       bool
	lockAware        bool
	readOnly         bool
	reportConflicts  bool
	sizeLimit        int64
	atLeast          int64 // the read version is not older

	retrySettings // not reset by OnError
}

// retrySettings are the options that stay when OnError resets the transaction.
type retrySettings struct {
	timeout    time.Duration // 0: none
	retryLimit int64         // -1: none
	maxDelay   time.Duration
}

// defaultSettings returns what transactions of a database with such options begin with.
func defaultSettings(o kv.TransactionOptions) settings {
	s := settings{snapshotRYW: 1, sizeLimit: kv.MaxTransactionSize, retrySettings: retrySettings{retryLimit: -1, maxDelay: time.Second}}
	s.apply(o)
	return s
}

// apply changes the settings to the options that are not zero. The others have nothing to
// do in one process.
func (s *settings) apply(o kv.TransactionOptions) {
	s.reportConflicts = s.reportConflicts || o.ReportConflictingKeys
	s.sizeLimit = cmp.Or(int64(o.SizeLimit), s.sizeLimit)
	s.atLeast = max(s.atLeast, o.AtLeast)
	s.timeout = cmp.Or(o.Timeout.Truncate(time.Millisecond), s.timeout)
	s.retryLimit = cmp.Or(int64(o.RetryLimit), s.retryLimit)
	s.maxDelay = cmp.Or(o.MaxRetryDelay.Truncate(time.Millisecond), s.maxDelay)
}

// afterRetry returns the settings of the next attempt, which begins with those
// of first.
func (s *settings) afterRetry(first settings) settings {
	first.retrySettings = s.retrySettings
	return first
}

// set changes an option that needs nothing but the settings.
func (s *settings) set(o kv.Option, arg int64) error {
	switch o {
	case kv.OptionCausalReadRisky, kv.OptionPrioritySystemImmediate, kv.OptionPriorityBatch:
		// Nothing to relax or to rank: one process, one disk, no lost replies.
	case kv.OptionCausalWriteRisky:
		s.causalWriteRisky = true
	case kv.OptionAutomaticIdempotency:
		s.idempotent = true
	case kv.OptionNextWriteNoWriteConflictRange:
		s.noWriteConflict = true
	case kv.OptionReadYourWritesDisable:
		s.rywDisabled = true
	case kv.OptionAccessSystemKeys:
		s.readSystem, s.writeSystem = true, true
	case kv.OptionReadSystemKeys:
		s.readSystem = true
	case kv.OptionSnapshotRYWEnable:
		s.snapshotRYW++
	case kv.OptionSnapshotRYWDisable:
		s.snapshotRYW--
	case kv.OptionLockAware:
		s.lockAware, s.readOnly = true, false
	case kv.OptionReadLockAware:
		s.readOnly = s.readOnly || !s.lockAware
		s.lockAware = true
	case kv.OptionUsedDuringCommitProtectionDisable:
		s.lenientCommit = true
	case kv.OptionReportConflictingKeys:
		s.reportConflicts = true
	case kv.OptionBypassUnreadable:
		s.bypassUnreadable = true
	default:
		return s.setNumber(o, arg)
	}
	return nil
}

// setNumber changes an option that takes a number.
func (s *settings) setNumber(o kv.Option, arg int64) error {
	least, most := int64(0), int64(math.MaxInt32)
	switch o {
	case kv.OptionRetryLimit:
		least = -1
	case kv.OptionSizeLimit:
		least, most = 32, kv.MaxTransactionSize
	case kv.OptionTimeout, kv.OptionMaxRetryDelay:
	default:
		return kv.NewError(kv.CodeInvalidOption, "there is no transaction option %d", int(o))
	}
	if arg < least || arg > most {
		return kv.NewError(kv.CodeInvalidOptionValue, "option %d takes %d to %d, not %d", int(o), least, most, arg)
	}
	switch o {
	case kv.OptionRetryLimit:
		s.retryLimit = arg
	case kv.OptionSizeLimit:
		s.sizeLimit = arg
	case kv.OptionTimeout:
		s.timeout = time.Duration(arg) * time.Millisecond
	case kv.OptionMaxRetryDelay:
		s.maxDelay = time.Duration(arg) * time.Millisecond
	}
	return nil
}

// readEnd and writeEnd are the first keys that cannot be read and written.
func (s *settings) readEnd() []byte  { return legalEnd(s.readSystem) }
func (s *settings) writeEnd() []byte { return legalEnd(s.writeSystem) }

var userEnd = []byte{0xff}

func legalEnd(system bool) []byte {
	if system {
		return keys.SystemEnd
	}
	return userEnd
}

// SetOption implements [kv.Transaction].
func (t *Transaction) SetOption(o kv.Option, arg int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault != nil {
		return nil
	}
	if o == kv.OptionReadYourWritesDisable && (t.read || !t.writes.empty()) {
		return t.keepFault(kv.NewError(kv.CodeClientInvalidOperation, "read-your-writes can be disabled before the first read or write only"))
	}
	late := o == kv.OptionReadYourWritesDisable && !t.settings.rywDisabled
	if err := t.settings.set(o, arg); err != nil {
		return t.keepFault(err)
	}
	if late {
		t.reads = nil // FoundationDB's client neither lists nor commits those that were added before
	}
	switch o {
	case kv.OptionTimeout:
		t.startTimeout()
	case kv.OptionMaxRetryDelay:
		t.backoff.cap = max(t.settings.maxDelay, 1)
	}
	return nil
}

// SetOptions implements [kv.ReadTransaction].
func (t *Transaction) SetOptions(o kv.TransactionOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkAlive(); err != nil {
		return err
	}
	if t.read || !t.writes.empty() || t.direct != &noDirectWrites {
		return kv.NewError(kv.CodeClientInvalidOperation, "SetOptions after a read or a write")
	}
	first := *t.first
	first.apply(o)
	t.first = &first
	t.settings.apply(o)
	t.backoff.cap = max(t.settings.maxDelay, 1)
	if o.Timeout > 0 {
		t.startTimeout()
	}
	return nil
}

// deadline is the timeout of a transaction, which most do not have.
type deadline struct {
	began   time.Time   // what it counts from
	expires time.Time   // zero: never
	timer   *time.Timer // strikes then
}

// startTimeout has the timeout count, from the first option of a timeout on. t.mu is held.
func (t *Transaction) startTimeout() {
	if t.deadline == nil {
		t.deadline = &deadline{began: time.Now()}
	}
	t.setExpiry()
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
