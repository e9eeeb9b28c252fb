// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"errors"
	"fmt"
	"strings"
)

// Code is a FoundationDB error number. The numbers are those of
// FoundationDB's flow/error_definitions.h, release 7.3.
type Code int

// The codes that a layer can meet, with FoundationDB's names.
const (
	CodeOperationFailed                Code = 1000
	CodeTimedOut                       Code = 1004
	CodeTransactionTooOld              Code = 1007 // read or commit more than 5 s after the read version
	CodeFutureVersion                  Code = 1009 // read version newer than the database
	CodeNotCommitted                   Code = 1020 // conflict with another transaction
	CodeCommitUnknownResult            Code = 1021 // may or may not have committed
	CodeTransactionCancelled           Code = 1025
	CodeConnectionFailed               Code = 1026
	CodeTransactionTimedOut            Code = 1031 // not retryable; a commit's also wraps ErrOutcomeUnknown
	CodeTooManyWatches                 Code = 1032
	CodeWatchesDisabled                Code = 1034
	CodeAccessedUnreadable             Code = 1036 // read of a key or value that awaits its versionstamp
	CodeProcessBehind                  Code = 1037
	CodeDatabaseLocked                 Code = 1038
	CodeClusterVersionChanged          Code = 1039
	CodeCommitProxyMemoryLimitExceeded Code = 1042
	CodeBatchTransactionThrottled      Code = 1051
	CodeGRVProxyMemoryLimitExceeded    Code = 1078
	CodeBlobGranuleRequestFailed       Code = 1079
	CodeOperationCancelled             Code = 1101
	CodeTagThrottled                   Code = 1213
	CodeProxyTagThrottled              Code = 1223
	CodePlatformError                  Code = 1500
	CodeIOError                        Code = 1510
	CodeClientInvalidOperation         Code = 2000
	CodeCommitReadIncomplete           Code = 2002
	CodeKeyOutsideLegalRange           Code = 2004
	CodeInvertedRange                  Code = 2005
	CodeInvalidOptionValue             Code = 2006
	CodeInvalidOption                  Code = 2007
	CodeReadVersionAlreadySet          Code = 2010
	CodeVersionInvalid                 Code = 2011 // negative or otherwise illegal version
	CodeRangeLimitsInvalid             Code = 2012
	CodeUsedDuringCommit               Code = 2017
	CodeInvalidMutationType            Code = 2018
	CodeTransactionInvalidVersion      Code = 2020 // the transaction has not committed: it has no commit version
	CodeNoCommitVersion                Code = 2021 // read-only transaction: there is no versionstamp
	CodeTransactionReadOnly            Code = 2023
	CodeTransactionTooLarge            Code = 2101
	CodeKeyTooLarge                    Code = 2102
	CodeValueTooLarge                  Code = 2103
	CodeSpecialKeysNoModuleFound       Code = 2113 // no special key begins so
	CodeSpecialKeysWriteDisabled       Code = 2114
	CodeExactModeWithoutLimits         Code = 2210
	CodeUnknownError                   Code = 4000
	CodeInternalError                  Code = 4100
)

// ErrClosed is returned by every call on a closed [Database].
var ErrClosed = errors.New("kv: the database is closed")

// ErrOutcomeUnknown marks an error after which a transaction may or may not
// have committed: the context or the transaction's time limit (1031) ended during the commit,
// or a retry loop ended after an attempt that may have committed. The error also wraps the
// context's error, or that of the last attempt, which may be an error of the function itself.
var ErrOutcomeUnknown = errors.New("kv: commit outcome unknown")

// Error is an engine's error with FoundationDB's code. Find it in an error
// chain with errors.As, or use the predicates of this package.
type Error struct {
	Code   Code
	Detail string // what was wrong and where; may be empty

	// Read says that a read has failed, or another call than a commit: the code says nothing
	// of the outcome of a commit.
	Read bool

	// Conflicts are the transaction's read conflict ranges that other transactions
	// wrote to, in order and merged. [Transaction.Commit] sets them with
	// CodeNotCommitted if the transaction has [OptionReportConflictingKeys] set.
	Conflicts []KeyRange
}

// NewError returns an error with the code and a formatted detail.
func NewError(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("kv: %s (%d)", e.Code, int(e.Code))
	}
	return fmt.Sprintf("kv: %s (%d): %s", e.Code, int(e.Code), e.Detail)
}

// Is reports whether target is an *Error with the same code, so that
// errors.Is(err, &kv.Error{Code: kv.CodeNotCommitted}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf returns the code of the first *Error in err's chain, or 0.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// ConflictsOf returns the [Error.Conflicts] of the first *Error in err's chain,
// or nil.
func ConflictsOf(err error) []KeyRange {
	var e *Error
	if errors.As(err, &e) {
		return e.Conflicts
	}
	return nil
}

// IsConflict reports whether the transaction failed because another transaction
// wrote to what it read (1020). It did not commit, nor did an attempt before it: an error
// that wraps [ErrOutcomeUnknown] is none.
func IsConflict(err error) bool {
	return CodeOf(err) == CodeNotCommitted && !errors.Is(err, ErrOutcomeUnknown)
}

// IsMaybeCommitted reports whether the failed transaction may have committed
// nevertheless (1021, 1039). It is over: it cannot commit later. The 1039 of a read is none.
func IsMaybeCommitted(err error) bool {
	var e *Error
	return errors.As(err, &e) && !e.Read && (e.Code == CodeCommitUnknownResult || e.Code == CodeClusterVersionChanged)
}

// IsOutcomeUnknown reports whether an error leaves open whether a transaction, or an attempt
// of a retry loop, has committed: it wraps [ErrOutcomeUnknown], or is one of
// [IsMaybeCommitted]. Unlike after those of IsMaybeCommitted, the commit may still be under
// way. The 1031 or 1039 of a read is none: its transaction has not begun to commit.
func IsOutcomeUnknown(err error) bool {
	return errors.Is(err, ErrOutcomeUnknown) || IsMaybeCommitted(err)
}

// IsRetryableNotCommitted reports whether the transaction can be retried and
// certainly did not commit. An error that wraps [ErrOutcomeUnknown] is none, whatever its code.
func IsRetryableNotCommitted(err error) bool {
	switch CodeOf(err) {
	case CodeTransactionTooOld, CodeFutureVersion, CodeNotCommitted, CodeProcessBehind, CodeDatabaseLocked,
		CodeCommitProxyMemoryLimitExceeded, CodeBatchTransactionThrottled, CodeGRVProxyMemoryLimitExceeded,
		CodeBlobGranuleRequestFailed, CodeTagThrottled, CodeProxyTagThrottled:
		return !errors.Is(err, ErrOutcomeUnknown)
	}
	return false
}

// IsRetryable reports whether [Transaction.OnError] retries after err. The codes
// are those that a recorded FoundationDB 7.3 client retries. 1039 is not among
// them, because the client library handles that code itself.
func IsRetryable(err error) bool {
	return CodeOf(err) == CodeCommitUnknownResult || IsRetryableNotCommitted(err)
}

var codeNames = map[Code]string{
	CodeOperationFailed:                "operation failed",
	CodeTimedOut:                       "operation timed out",
	CodeTransactionTooOld:              "transaction is too old to perform reads or be committed",
	CodeFutureVersion:                  "request for a future version",
	CodeNotCommitted:                   "transaction not committed due to conflict with another transaction",
	CodeCommitUnknownResult:            "transaction may or may not have committed",
	CodeTransactionCancelled:           "operation aborted because the transaction was cancelled",
	CodeConnectionFailed:               "network connection failed",
	CodeTransactionTimedOut:            "operation aborted because the transaction timed out",
	CodeTooManyWatches:                 "too many watches currently set",
	CodeWatchesDisabled:                "watches cannot be set if read-your-writes is disabled",
	CodeAccessedUnreadable:             "read or wrote an unreadable key",
	CodeProcessBehind:                  "storage process does not have recent mutations",
	CodeDatabaseLocked:                 "database is locked",
	CodeClusterVersionChanged:          "cluster has been upgraded to a new protocol version",
	CodeCommitProxyMemoryLimitExceeded: "proxy commit memory limit exceeded",
	CodeBatchTransactionThrottled:      "batch transaction throttled",
	CodeGRVProxyMemoryLimitExceeded:    "GRV proxy memory limit exceeded",
	CodeBlobGranuleRequestFailed:       "blob granule request failed",
	CodeOperationCancelled:             "asynchronous operation cancelled",
	CodeTagThrottled:                   "transaction tag is being throttled",
	CodeProxyTagThrottled:              "transaction tag is being throttled by the proxy",
	CodePlatformError:                  "platform error",
	CodeIOError:                        "disk i/o operation failed",
	CodeClientInvalidOperation:         "invalid API call",
	CodeCommitReadIncomplete:           "commit with incomplete read",
	CodeKeyOutsideLegalRange:           "key outside legal range",
	CodeInvertedRange:                  "range begin key larger than end key",
	CodeInvalidOptionValue:             "option set with an invalid value",
	CodeInvalidOption:                  "option not valid in this context",
	CodeReadVersionAlreadySet:          "transaction already has a read version set",
	CodeVersionInvalid:                 "version not valid",
	CodeRangeLimitsInvalid:             "range limits not valid",
	CodeUsedDuringCommit:               "operation issued while a commit was outstanding",
	CodeInvalidMutationType:            "unrecognized atomic mutation type",
	CodeTransactionInvalidVersion:      "transaction does not have a valid commit version",
	CodeNoCommitVersion:                "transaction is read-only and therefore does not have a commit version",
	CodeTransactionReadOnly:            "attempted to commit a transaction specified as read-only",
	CodeTransactionTooLarge:            "transaction exceeds byte limit",
	CodeKeyTooLarge:                    "key length exceeds limit",
	CodeValueTooLarge:                  "value length exceeds limit",
	CodeSpecialKeysNoModuleFound:       "special key space range read does not intersect a module",
	CodeSpecialKeysWriteDisabled:       "special key space is not allowed to write",
	CodeExactModeWithoutLimits:         "exact streaming mode requires limits",
	CodeUnknownError:                   "an unknown error occurred",
	CodeInternalError:                  "an internal error occurred",
}

// String returns FoundationDB's description of the code.
func (c Code) String() string {
	if s, ok := codeNames[c]; ok {
		return s
	}
	return "unlisted error"
}

// NewConflictError returns the error of a commit that failed because other
// transactions wrote to what it read. Engines pass the conflicting ranges, in order
// and merged, if the transaction has [OptionReportConflictingKeys] set.
func NewConflictError(conflicts []KeyRange) *Error {
	e := NewError(CodeNotCommitted, "another transaction wrote to what this one read")
	if len(conflicts) > 0 {
		e.Detail += ": " + describeRanges(conflicts)
		e.Conflicts = conflicts
	}
	return e
}

// maxDescribed is how many ranges an error's text lists.
const maxDescribed = 3

func describeRanges(ranges []KeyRange) string {
	var b strings.Builder
	for i, r := range ranges[:min(len(ranges), maxDescribed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		if string(r.End) == string(r.Begin)+"\x00" {
			fmt.Fprintf(&b, "key %s", quoteKey(r.Begin))
		} else {
			fmt.Fprintf(&b, "keys from %s to %s", quoteKey(r.Begin), quoteKey(r.End))
		}
	}
	if more := len(ranges) - maxDescribed; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// quoteKey quotes a key for an error's text; of a long one, the first bytes.
func quoteKey(key []byte) string {
	const limit = 64
	if len(key) > limit {
		return fmt.Sprintf("%q…", key[:limit])
	}
	return fmt.Sprintf("%q", key)
}
