// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// draws draw the arguments of each kind of step. Filled in by init, since
// program a commit under way draws another step.
var draws map[string]func(d *program, slot int)

func init() {
	draws = map[string]func(*program, int){
		"get": drawGet, "get_key": drawGetKey, "get_range": drawGetRange,
		"set": drawSet, "clear": drawClear, "clear_range": drawClearRange, "atomic": drawAtomic, "stamped": drawStamped,
		"add_read_conflict": drawConflict("read"), "add_write_conflict": drawConflict("write"),
		"option": drawOption, "set_read_version": drawSetReadVersion, "on_error": drawOnError,
		"commit": drawCommit, "commit_start": drawCommitStart, "begin": (*program).begin, "cancel": drawCancel,
		"watch": drawWatch, "watch_state": drawKnown("watch_state", "watch"), "cancel_watch": drawKnown("cancel_watch", "watch"),
		"get_versionstamp": drawGetVersionstamp, "await_versionstamp": drawKnown("await_versionstamp", "get_versionstamp"),
		"conflict_ranges": drawBare("conflict_ranges"), "get_read_version": drawBare("get_read_version"), "reset": drawBare("reset"),
		"get_approximate_size": drawBare("get_approximate_size"), "get_committed_version": drawBare("get_committed_version"),
	}
}

func drawBare(op string) func(*program, int) {
	return func(d *program, slot int) { d.add(scenario.Step{Tx: slot, Op: op}) }
}

func drawGet(d *program, slot int) {
	d.add(scenario.Step{Tx: slot, Op: "get", Key: d.key(), Snapshot: d.one(3)})
}

func drawGetKey(d *program, slot int) {
	sel := d.selector()
	d.add(scenario.Step{Tx: slot, Op: "get_key", Key: sel.Key, OrEqual: sel.OrEqual, Offset: sel.Offset, Snapshot: d.one(3)})
}

func drawGetRange(d *program, slot int) {
	st := scenario.Step{Tx: slot, Op: "get_range", Reverse: d.one(2), Snapshot: d.one(3), Mode: of(d, slices.Sorted(maps.Keys(scenario.ModeNames))...)}
	st.Begin, st.End = d.bounds()
	if st.End.Offset > 2 && (st.Mode == "small" || st.Mode == "medium") {
		st.Mode = "large" // how large system keys are that the end runs over would show
	}
	if d.one(2) || st.Mode == "exact" && !d.one(10) {
		st.Limit = 1 + d.rng.IntN(6)
	}
	if d.one(60) {
		st.Limit = of(d, -1, -2, 1000, 1<<30)
	}
	d.add(st)
}

func drawSet(d *program, slot int) {
	d.add(scenario.Step{Tx: slot, Op: "set", Key: d.key(), Value: d.value()})
}

func drawClear(d *program, slot int) { d.add(scenario.Step{Tx: slot, Op: "clear", Key: d.key()}) }

func drawClearRange(d *program, slot int) {
	from, to := d.span()
	d.add(scenario.Step{Tx: slot, Op: "clear_range", From: from, To: to})
}

// computing are the names of the operations that need no versionstamp.
var computing = slices.DeleteFunc(slices.Sorted(maps.Keys(scenario.MutationNames)), func(name string) bool {
	return !slices.Contains(model.Operations(), scenario.MutationNames[name])
})

func drawAtomic(d *program, slot int) {
	st := scenario.Step{Tx: slot, Op: "atomic", Mutation: of(d, computing...), Key: d.key(), Value: d.value()}
	if key, err := st.Key.Bytes(nil); err == nil && slices.Contains(stampedValues, string(key)) {
		st.Mutation = of(d, "append_if_fits", "compare_and_clear") // what depends on no stamp
		if st.Mutation == "append_if_fits" && d.one(2) {
			st.Mutation, st.Value = "add", literal(strings.Repeat("\x00", 40))
		}
	}
	d.add(st)
}

func drawStamped(d *program, slot int) {
	if d.one(2) {
		d.add(scenario.Step{Tx: slot, Op: "atomic", Mutation: "set_versionstamped_value", Key: literal(of(d, stampedValues...)), Value: d.template(of(d, "", "", "p", "pq"))})
		return
	}
	prefix := of(d, "s", "s", "s", "a", "t\xff", "")
	if d.illegal && d.one(5) {
		prefix = "\xff"
	}
	d.add(scenario.Step{Tx: slot, Op: "atomic", Mutation: "set_versionstamped_key", Key: d.template(prefix), Value: d.value()})
}

func drawConflict(side string) func(*program, int) {
	return func(d *program, slot int) {
		if d.one(2) {
			d.add(scenario.Step{Tx: slot, Op: "add_" + side + "_conflict_key", Key: d.key()})
			return
		}
		from, to := d.span()
		d.add(scenario.Step{Tx: slot, Op: "add_" + side + "_conflict_range", From: from, To: to})
	}
}

// optionArguments are the options that programs set, each with arguments that
// do nothing by themselves in the time that a program takes.
var optionArguments = map[string][]int64{
	"causal_write_risky": {0}, "causal_read_risky": {0}, "priority_batch": {0}, "priority_system_immediate": {0},
	"lock_aware": {0}, "read_lock_aware": {0}, "automatic_idempotency": {0},
	"next_write_no_write_conflict_range": {0}, "read_your_writes_disable": {0},
	"snapshot_ryw_enable": {0}, "snapshot_ryw_disable": {0}, "bypass_unreadable": {0},
	"used_during_commit_protection_disable": {0},
	"report_conflicting_keys":               {0},
	"timeout":                               {0, 1_000_000, 0x7fffffff, -1},
	"retry_limit":                           {-1, 0, 1, 2, -2, 0x7fffffff},
	"max_retry_delay":                       {0, 1, 20, -1},
	"size_limit":                            {-1, 0, 31, 32, 33, 50, 100, 200, 500, 10_000_000, 10_000_001},
}

// usualOptions change what reads and writes do.
var usualOptions = []string{"next_write_no_write_conflict_range", "read_your_writes_disable", "snapshot_ryw_enable", "snapshot_ryw_disable", "bypass_unreadable"}

func drawOption(d *program, slot int) {
	names := usualOptions
	if d.one(2) {
		names = slices.Sorted(maps.Keys(optionArguments))
	}
	name := of(d, names...)
	d.add(scenario.Step{Tx: slot, Op: "set_option", Option: name, Arg: of(d, optionArguments[name]...)})
}

// oldest is how far before others the oldest versions are that programs set: too
// old to read.
const oldest = 10 * kv.VersionsPerSecond

func drawSetReadVersion(d *program, slot int) {
	if d.one(2) {
		d.renew(slot)
	}
	st := scenario.Step{Tx: slot, Op: "set_read_version", Arg: of(d, int64(0), 0, 0, -1, 1, -oldest, 1e12)}
	if d.one(8) {
		st.Arg = of(d, int64(0), -1)
	} else {
		st.Base, st.Of = of(d, "read", "committed"), d.begun[d.rng.IntN(len(d.begun))]
	}
	d.add(st)
}

// errorCodes are given to OnError: retryable ones that it does not wait long
// for, and others.
var errorCodes = []kv.Code{
	kv.CodeTransactionTooOld, kv.CodeFutureVersion, kv.CodeNotCommitted, kv.CodeCommitUnknownResult, kv.CodeProcessBehind,
	kv.CodeTransactionCancelled, kv.CodeTransactionTimedOut, kv.CodeOperationCancelled, kv.CodeUsedDuringCommit,
	kv.CodeAccessedUnreadable, kv.CodeClientInvalidOperation, kv.CodeTransactionTooLarge, kv.CodeDatabaseLocked,
	kv.CodeClusterVersionChanged, kv.CodeInternalError, kv.CodeTimedOut, kv.CodeIOError,
}

func drawOnError(d *program, slot int) {
	d.add(scenario.Step{Tx: slot, Op: "on_error", Code: int(of(d, errorCodes...))})
}

func drawCommit(d *program, slot int) {
	d.add(scenario.Step{Tx: slot, Op: "commit"})
	d.renew(slot)
}

// drawCommitStart starts a commit that writes and uses the transaction before
// it has come back.
func drawCommitStart(d *program, slot int) {
	d.add(scenario.Step{Tx: slot, Op: "set", Key: literal(d.pool[0]), Value: d.value()})
	d.add(scenario.Step{Tx: slot, Op: "commit_start"})
	for range d.rng.IntN(3) {
		during := of(d, "get", "get_key", "get_range", "set", "clear", "atomic", "add_read_conflict", "add_write_conflict", "get_approximate_size", "watch", "get_versionstamp")
		draws[during](d, slot)
	}
	d.add(scenario.Step{Tx: slot, Op: "commit_await"})
	d.renew(slot)
}

func drawCancel(d *program, slot int) {
	d.add(scenario.Step{Tx: slot, Op: "cancel"})
	d.renew(slot)
}

func drawWatch(d *program, slot int) {
	d.ids++
	d.add(scenario.Step{Tx: slot, Op: "watch", ID: d.ids, Key: d.key()})
}

func drawGetVersionstamp(d *program, slot int) {
	d.ids++
	d.add(scenario.Step{Tx: slot, Op: "get_versionstamp", ID: d.ids})
}

// drawKnown draws a step about something that an earlier one began.
func drawKnown(op, earlier string) func(*program, int) {
	return func(d *program, slot int) {
		var known []scenario.Step
		for _, st := range d.steps {
			if st.Op == earlier {
				known = append(known, st)
			}
		}
		if len(known) == 0 {
			draws[earlier](d, slot)
			return
		}
		st := of(d, known...)
		d.add(scenario.Step{Tx: st.Tx, Op: op, ID: st.ID, WaitMS: 10})
	}
}
