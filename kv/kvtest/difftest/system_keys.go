// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// byClientsOwnKey reports whether two answers to a commit may differ because
// FoundationDB's client gives a commit that has read nothing of what it writes
// a conflict range of its own, a random key behind \xff/SC/ (Transaction::
// makeSelfConflicting). A transaction conflicts with all such commits if it has
// read past the end of all keys of users with read-your-writes disabled: the
// read conflicts as far as some system key. Which one depends on how many there
// are.
func byClientsOwnKey(before []scenario.Step, st *scenario.Step, answers [2]scenario.Answer) bool {
	if st.Op != "commit" && st.Op != "commit_await" || answers[1].Kind == "error" {
		return false
	}
	return answers[0].Code == kv.CodeNotCommitted && readsSystemKeys(before, st.Tx)
}

// readsSystemKeys reports whether a transaction may have read past the end of
// all keys of users with read-your-writes disabled.
func readsSystemKeys(steps []scenario.Step, tx int) (reads bool) {
	disabled := false
	for _, st := range steps {
		if st.Tx != tx {
			continue
		}
		switch st.Op {
		case "begin", "reset":
			disabled, reads = false, false
		case "set_option":
			disabled = disabled || st.Option == "read_your_writes_disable"
		case "get_key":
			reads = reads || disabled && !st.Snapshot && st.Offset > 1
		case "get_range":
			reads = reads || disabled && !st.Snapshot && max(st.Begin.Offset, st.End.Offset) > 1
		}
	}
	return reads
}
