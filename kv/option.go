// SPDX-License-Identifier: Apache-2.0

package kv

// Option is a transaction option. The numbers are FoundationDB's. Options with
// an argument take it in [Transaction.SetOption]; the others ignore it.
type Option int

// The transaction options.
const (
	OptionCausalWriteRisky                  Option = 10
	OptionCausalReadRisky                   Option = 20
	OptionNextWriteNoWriteConflictRange     Option = 30  // the next write adds no write conflict range
	OptionReadYourWritesDisable             Option = 51  // before the first read or write only (2000 otherwise); read conflict ranges that were added before are forgotten
	OptionPrioritySystemImmediate           Option = 200 //
	OptionPriorityBatch                     Option = 201
	OptionAccessSystemKeys                  Option = 301 // read and write keys from \xff on
	OptionReadSystemKeys                    Option = 302
	OptionTimeout                           Option = 500 // milliseconds from the transaction's begin; 0 is none
	OptionRetryLimit                        Option = 501 // how often OnError retries; -1 is unlimited
	OptionMaxRetryDelay                     Option = 502 // milliseconds; the cap of OnError's back-off
	OptionSizeLimit                         Option = 503 // bytes, 32 to MaxTransactionSize
	OptionAutomaticIdempotency              Option = 505 // where the engine has it: no 1021
	OptionSnapshotRYWEnable                 Option = 600
	OptionSnapshotRYWDisable                Option = 601
	OptionLockAware                         Option = 700
	OptionUsedDuringCommitProtectionDisable Option = 701
	OptionReadLockAware                     Option = 702
	OptionReportConflictingKeys             Option = 712  // a commit that fails with CodeNotCommitted tells which reads were the cause: see [Error.Conflicts] and [ConflictRanger]
	OptionBypassUnreadable                  Option = 1100 // read what a versionstamped write hides
)
