// SPDX-License-Identifier: Apache-2.0

package kv

import "context"

// Former names, until the last use of them is gone.
type Pending[T any] = PendingResult[T]

const (
	CodeProxyMemoryLimitExceeded = CodeCommitProxyMemoryLimitExceeded
	CodeBatchTransactionThrottle = CodeBatchTransactionThrottled
	CodeGRVProxyMemoryLimit      = CodeGRVProxyMemoryLimitExceeded
	CodeTransactionInvalidVer    = CodeTransactionInvalidVersion
	CodeSpecialKeysNoModule      = CodeSpecialKeysNoModuleFound
)

// KeyAfter is [Successor].
func KeyAfter(key []byte) []byte { return Successor(key) }

// Await is [NewFuture].
func Await[T any](p PendingResult[T]) Future[T] { return NewFuture(p) }

// Progress is [MarkProgress].
func Progress(err error) error { return MarkProgress(err) }

// CheckSplit is [CheckSplitPoints].
func CheckSplit(r KeyRange, chunkSize int64) error { return CheckSplitPoints(r, chunkSize) }

// helper has the former name of Drive.
type helper interface{ Help(context.Context) }
