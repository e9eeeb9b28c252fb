// SPDX-License-Identifier: Apache-2.0

// Package ryw is the transaction: FoundationDB's client (ReadYourWritesTransaction
// and NativeAPI) over a view of the database.
//
// It promises to the package above:
//
//   - A [Transaction] is a [kv.Transaction] and a [kv.ConflictRanger]. It answers,
//     conflicts, counts sizes and ends batches as FoundationDB's client does, which the
//     recordings of a real cluster prove (TestGoldens of kv/embedded). Where that is
//     surprising a comment names the function of the client.
//   - A read sees the transaction's writes as they were when the read was begun, over
//     one version of the database.
//   - Reads overlap. A commit waits for the reads that were begun before it, and has
//     their conflict ranges. Cancel, Reset, OnError and the timeout end them.
//   - What a caller gets is shared and never modified. The caller must not modify it
//     either.
//
// It needs an [Engine] from below, which gives it a [View] with Get, Seek and
// SeekBelow, and commits its writes. So its own tests do not need the real engine:
// they use one over a slice.
package ryw
