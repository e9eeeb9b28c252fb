// SPDX-License-Identifier: Apache-2.0

package scenario

import "github.com/kazahana-db/kazahana/kv"

// The names that traces use.
var (
	MutationNames = map[string]kv.MutationType{
		"add": kv.Add, "and": kv.BitAnd, "or": kv.BitOr, "xor": kv.BitXor,
		"append_if_fits": kv.AppendIfFits, "max": kv.Max, "min": kv.Min,
		"byte_min": kv.ByteMin, "byte_max": kv.ByteMax, "compare_and_clear": kv.CompareAndClear,
		"set_versionstamped_key": kv.SetVersionstampedKey, "set_versionstamped_value": kv.SetVersionstampedValue,
	}
	ModeNames = map[string]kv.StreamingMode{
		"iterator": kv.ModeIterator, "want_all": kv.ModeWantAll, "exact": kv.ModeExact,
		"small": kv.ModeSmall, "medium": kv.ModeMedium, "large": kv.ModeLarge, "serial": kv.ModeSerial,
	}
	OptionNames = map[string]kv.Option{
		"causal_write_risky": kv.OptionCausalWriteRisky, "causal_read_risky": kv.OptionCausalReadRisky,
		"next_write_no_write_conflict_range": kv.OptionNextWriteNoWriteConflictRange,
		"read_your_writes_disable":           kv.OptionReadYourWritesDisable,
		"priority_system_immediate":          kv.OptionPrioritySystemImmediate,
		"priority_batch":                     kv.OptionPriorityBatch,
		"access_system_keys":                 kv.OptionAccessSystemKeys, "read_system_keys": kv.OptionReadSystemKeys,
		"timeout": kv.OptionTimeout, "retry_limit": kv.OptionRetryLimit,
		"max_retry_delay": kv.OptionMaxRetryDelay, "size_limit": kv.OptionSizeLimit,
		"automatic_idempotency": kv.OptionAutomaticIdempotency,
		"snapshot_ryw_enable":   kv.OptionSnapshotRYWEnable, "snapshot_ryw_disable": kv.OptionSnapshotRYWDisable,
		"lock_aware": kv.OptionLockAware, "read_lock_aware": kv.OptionReadLockAware,
		"used_during_commit_protection_disable": kv.OptionUsedDuringCommitProtectionDisable,
		"bypass_unreadable":                     kv.OptionBypassUnreadable,
		"report_conflicting_keys":               kv.OptionReportConflictingKeys,
	}
)
