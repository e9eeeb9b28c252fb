// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"cmp"
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

	retrySettings // not reset by OnError
}

// retrySettings are the options that stay when OnError resets the transaction.
type retrySettings struct {
	timeout    time.Duration // 0: none
	retryLimit int64         // -1: none
	maxDelay   time.Duration
}

// defaultSettings returns what transactions of a database with such defaults
// begin with.
func defaultSettings(d kv.TransactionDefaults) settings {
	s := settings{
		snapshotRYW:     1,
		reportConflicts: d.ReportConflictingKeys,
		sizeLimit:       cmp.Or(int64(d.SizeLimit), kv.MaxTransactionSize),
		retrySettings:   retrySettings{timeout: d.Timeout.Truncate(time.Millisecond), retryLimit: -1, maxDelay: time.Second},
	}
	if d.RetryLimit > 0 {
		s.retryLimit = int64(d.RetryLimit)
	}
	if d.MaxRetryDelay > 0 {
		s.maxDelay = d.MaxRetryDelay.Truncate(time.Millisecond)
	}
	return s
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

// longestKey returns how long a key like this one may be to be written.
func longestKey(key []byte) int {
	if len(key) > 0 && key[0] == 0xff {
		return 3 * kv.MaxKeySize // FoundationDB's SYSTEM_KEY_SIZE_LIMIT
	}
	return kv.MaxKeySize
}

// longestBound returns how long a key like this one is looked at in reads,
// clears and conflict ranges: FoundationDB 7.3 leaves room for the prefix of a
// tenant there.
func longestBound(key []byte) int { return longestKey(key) + 8 }

// shorten returns a key that divides all keys that can exist as key does.
func shorten(key []byte) []byte {
	if limit := longestBound(key); len(key) > limit {
		return key[:limit+1]
	}
	return key
}
