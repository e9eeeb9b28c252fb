// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// area is a part of the contract, in cells.
type area struct {
	title string
	about string
	// unproven says how a cell without a recording is decided, and which tests
	// exercise it; a cell may say better.
	unproven string
	cells    []cell
}

// cell is one behaviour. The key is what observers prove.
type cell struct {
	key      string
	label    string
	unproven string
}

// areas lists all behaviour of the contract, from the contract: its methods,
// options, codes and mutations are read from package kv.
func areas(t *testing.T) []area {
	return []area{
		methodCells(), optionCells(t), atomicCells(t), ownWriteCells(), selectorCells(), rangeCells(t), endCells(),
		conflictCells(), errorCells(t), stampCells(), metadataCells(), watchCells(), versionCells(), sizeCells(), limitCells(),
	}
}

func (a *area) add(label, format string, args ...any) {
	a.cells = append(a.cells, cell{key: fmt.Sprintf(format, args...), label: label})
}

// explain says of the last cell how it is decided where nothing proves it.
func (a *area) explain(text string) { a.cells[len(a.cells)-1].unproven = text }

func methodCells() area {
	a := area{
		title: "Methods", about: "Each method of kv.Database and kv.Transaction, answering and failing with a code.",
		unproven: "FoundationDB's documentation of the call: `kvtest.RunConformance`: life cycle",
	}
	for _, m := range methodsOf() {
		for _, end := range []string{"answered", "failed"} {
			if end == "failed" && !m.fails {
				continue
			}
			a.add(m.name+" "+end, "method/%s/%s", m.name, end)
			switch _, method, _ := strings.Cut(m.name, "."); method {
			case "Transact", "ReadTransact":
				a.explain("The loop of FoundationDB's bindings over Commit and OnError: `kvtest.RunConformance`: transact; `kv` `TestRetry`, `TestRetryRead`")
			case "Close", "Begin":
				a.explain("Kazahana's own: `kvtest.RunConformance`: closing")
			case "AddReadConflictKey", "AddWriteConflictKey", "SetOption":
				a.explain("Such faults show in the next call that reads or commits, and those are recorded (Error codes, below)")
			case "GetEstimatedRangeSizeBytes", "GetRangeSplitPoints":
				a.explain("Estimates, which no two databases share: `kvtest.RunConformance`: sizes; `kv/embedded` `TestSampleModel`")
			case "SetOptions":
				a.explain("Kazahana's own, by options of FoundationDB's client: `kvtest.RunOptions`")
			case "Release":
				a.explain("Kazahana's own: `kv` `TestRetryReleases`; on a cluster `kv/fdbkv` `TestWritesAreFreedWithTheirTransactions`")
			case "ConflictingKeys":
				a.explain("FoundationDB's client: `kvtest.RunConformance`: conflicting keys")
			case "CommitAsync":
				a.explain("The outcome is recorded where the commit is awaited (Error codes, below)")
			}
		}
	}
	return a
}

func optionCells(t *testing.T) area {
	a := area{
		title: "Options", about: "Each option of kv.Option, set in a transaction that then went on.",
		unproven: "FoundationDB's documentation of the option: `kvtest.RunConformance`: life cycle",
	}
	for _, c := range constantsOf(t, "options.go", "Option") {
		name := traceName(scenario.OptionNames, c)
		a.add(c.name, "option/%s/used", name)
		switch kv.Option(c.value) {
		case kv.OptionAccessSystemKeys, kv.OptionReadSystemKeys:
			a.explain("Only the range of legal keys changes; there is nothing else behind `\\xff` here: `kv/embedded` `TestSystemKeys`")
		case kv.OptionReportConflictingKeys:
			a.explain("FoundationDB's client: `kvtest.RunConformance`: conflicting keys")
		case kv.OptionAutomaticIdempotency:
			a.explain("Nothing to do: a reply is never lost in one process. `kv/embedded` `TestOptionsWithoutEffect`")
		}
	}
	return a
}

// atomicFinds are what an atomic operation may find.
var atomicFinds = []string{
	"absent", "empty", "shorter than the operand", "as long as the operand", "longer than the operand", "after own set",
	"after own clear", "after own clear_range", "after the same operation", "after another operation",
	"after own versionstamped value",
}

func atomicCells(t *testing.T) area {
	a := area{
		title: "Atomic operations", about: "Each operation on what it may find, read back in the transaction and committed.",
		unproven: "The operation's definition in FoundationDB's documentation: `kvtest.RunConformance`: atomic operations",
	}
	for _, c := range constantsOf(t, "database.go", "MutationType") {
		name := traceName(scenario.MutationNames, c)
		if strings.HasPrefix(name, "set_versionstamped") {
			continue // an area of their own
		}
		for _, finds := range atomicFinds {
			for _, end := range []string{"read", "committed"} {
				if finds == "after own versionstamped value" && end == "read" {
					continue // unreadable
				}
				a.add(fmt.Sprintf("%s, %s, %s", c.name, finds, end), "atomic/%s/%s/%s", name, finds, end)
			}
		}
	}
	return a
}

var views = []string{"serializable", "snapshot", "snapshot without own writes", "read-your-writes disabled", "snapshot, read-your-writes disabled"}

func ownWriteCells() area {
	a := area{
		title:    "Reads over own writes",
		about:    "Each read over each kind of own write, in each view. What awaits a versionstamp is in the area of versionstamps where own writes are seen.",
		unproven: "The rule of the same read over other writes: `kvtest.RunConformance`: read your writes",
	}
	for _, read := range []string{"get", "get_key", "get_range forward", "get_range backward"} {
		for _, kind := range []string{"nothing", "set", "clear", "clear_range", "atomic", "versionstamped value"} {
			for i, view := range views {
				if kind == "versionstamped value" && i < 2 {
					continue // unreadable
				}
				a.add(fmt.Sprintf("%s over %s, %s", read, kind, view), "own/%s/%s/%s", read, kind, view)
			}
		}
	}
	return a
}

var offsetClasses = []string{"-1 and less", "0", "1", "2 and more"}

func selectorCells() area {
	a := area{
		title: "Key selectors", about: "GetKey by offset and or-equal, leading to a key or off an end.",
		unproven: "FoundationDB's documentation of key selectors: `kvtest.RunConformance`: selectors",
	}
	for i, class := range offsetClasses {
		for _, orEqual := range []bool{false, true} {
			off := "the beginning"
			if i >= 2 {
				off = "the end"
			}
			for _, where := range []string{"a key", off} {
				a.add(fmt.Sprintf("offset %s, or-equal %t, to %s", class, orEqual, where), "selector/%s/%t/%s", class, orEqual, where)
			}
		}
	}
	return a
}

func rangeCells(t *testing.T) area {
	a := area{
		title: "Range reads", about: "Each streaming mode, direction and kind of limit.",
		unproven: "A mode only cuts batches: `kvtest.RunConformance`: ranges; `kv/embedded` `TestRangesWhateverIsKnown`",
	}
	for _, c := range constantsOf(t, "range.go", "StreamingMode") {
		for _, way := range []string{"forward", "backward"} {
			for _, limit := range []string{"without a limit", "cut by the limit", "limit not reached"} {
				if kv.StreamingMode(c.value) == kv.ModeExact && limit == "without a limit" {
					continue // an error
				}
				a.add(fmt.Sprintf("%s %s, %s", c.name, way, limit), "range/%s/%s/%s", traceName(scenario.ModeNames, c), way, limit)
			}
		}
	}
	return a
}

func endCells() area {
	a := area{
		title: "Ends of range reads", about: "The offsets of both selectors, in each direction.",
		unproven: "FoundationDB's documentation of key selectors: `kvtest.RunConformance`: ranges",
	}
	for _, way := range []string{"forward", "backward"} {
		for _, begin := range offsetClasses {
			for _, end := range offsetClasses {
				a.add(fmt.Sprintf("%s, begin offset %s, end offset %s", way, begin, end), "ends/%s/%s/%s", way, begin, end)
			}
		}
	}
	return a
}

func conflictCells() area {
	a := area{
		title:    "Conflicts",
		about:    "A transaction with one read beside commits with one kind of write: with conflict where it hit, without where it missed or must not count.",
		unproven: "The conflict ranges of the read and of the write, which are recorded each by itself: `kv/embedded` `TestConflictMatrix`; `kvtest.RunConformance`: conflicts",
	}
	writers := []string{
		"set", "clear", "clear_range", "atomic", "versionstamped key", "versionstamped value",
		"add_write_conflict_key", "add_write_conflict_range", "set without conflict range", "clear without conflict range",
		"clear_range without conflict range", "atomic without conflict range", "versionstamped key without conflict range",
		"versionstamped value without conflict range",
	}
	for _, read := range []string{
		"get", "get_key", "get_range", "add_read_conflict_key", "add_read_conflict_range", "watch",
		"snapshot get", "snapshot get_key", "snapshot get_range",
	} {
		for _, write := range writers {
			hits := !strings.HasSuffix(write, "without conflict range") || strings.HasPrefix(write, "versionstamped key")
			if hits && !strings.HasPrefix(read, "snapshot") {
				a.add(fmt.Sprintf("%s hit by %s", read, write), "conflict/%s/%s/conflict", read, write)
			}
			a.add(fmt.Sprintf("%s not hit by %s", read, write), "conflict/%s/%s/none", read, write)
		}
	}
	return a
}

// codesElsewhere are those that this engine has no reason to return.
var codesElsewhere = map[kv.Code]string{
	kv.CodeTooManyWatches:           "`kvtest.RunConformance`: watches; `kv/embedded` `TestTooManyWatches`",
	kv.CodeIOError:                  "Of a disk that fails: `kv/embedded` `TestFaults`",
	kv.CodeSpecialKeysNoModuleFound: "Reads of special keys: `kv/embedded` `TestFinds`",
	kv.CodeInvalidOption:            "An option that does not exist: `kv/embedded` `TestOptionsWithoutEffect`",
	kv.CodeUnknownError:             "Never returned",
	kv.CodeInternalError:            "Never returned",
	kv.CodeOperationFailed:          "Never returned",
}

func errorCells(t *testing.T) area {
	a := area{
		title:    "Error codes",
		about:    "Each code of kv/errors.go, returned by some call, and given to OnError, which retries or not.",
		unproven: "It speaks of a cluster's network and processes, which are not here: never returned, but retried or not as recorded: `kv` `TestEveryCodeSurvivesWrapping`",
	}
	for _, c := range constantsOf(t, "errors.go", "Code") {
		for _, what := range []string{"returned", "on_error"} {
			a.add(fmt.Sprintf("%d %s, %s", c.value, c.name, strings.ReplaceAll(what, "_", " ")), "error/%d/%s", c.value, what)
			if text := codesElsewhere[kv.Code(c.value)]; text != "" {
				a.explain(text)
			}
			if kv.Code(c.value) == kv.CodeInvalidMutationType {
				a.explain("FoundationDB's definition of the code: `kvtest.RunConformance`: limits")
			}
		}
	}
	return a
}

func stampCells() area {
	a := area{
		title: "Versionstamps", about: "Keys and values that get the commit's versionstamp, and its future.",
		unproven: "FoundationDB's documentation: `kvtest.RunConformance`: versionstamps",
	}
	for _, what := range []string{"key", "value"} {
		a.add("versionstamped "+what+", committed", "stamp/%s/committed", what)
		for _, read := range []string{"get", "get_key", "get_range"} {
			a.add(fmt.Sprintf("versionstamped %s, not readable by %s", what, read), "stamp/%s/unreadable by %s", what, read)
		}
	}
	a.add("versionstamped value, read with bypass_unreadable", "stamp/value/read with bypass_unreadable")
	a.add("the stamp of a second commit of one transaction", "stamp/of a second commit")
	a.add("future of a commit", "stamp/future/committed")
	for _, c := range []struct {
		code kv.Code
		what string
	}{
		{kv.CodeNoCommitVersion, "a read-only commit"},
		{kv.CodeTransactionInvalidVersion, "a commit that failed"},
		{kv.CodeTransactionCancelled, "a cancelled transaction"},
		{1100, "a transaction that was reset"},
		{kv.CodeUsedDuringCommit, "a transaction used during its commit"},
	} {
		a.add(fmt.Sprintf("future of %s: %d", c.what, int(c.code)), "stamp/future/%d", int(c.code))
	}
	return a
}

func metadataCells() area {
	a := area{
		title: "The metadata version", about: "The key `\\xff/metadataVersion`.",
		unproven: "FoundationDB's documentation and the client's source (NativeAPI): `kv/embedded` `TestMetadataVersion`; `kvtest.RunConformance`: versionstamps",
	}
	a.add("read", "metadata/read")
	a.add("stamped and committed", "metadata/stamp committed")
	a.add("not readable after its own stamp", "metadata/unreadable after own stamp")
	return a
}

func watchCells() area {
	a := area{
		title: "Watches", about: "What fires a watch, what leaves it quiet, and how it ends.",
		unproven: "FoundationDB's documentation: `kvtest.RunConformance`: watches",
	}
	for _, cause := range []string{"set", "clear", "clear_range", "atomic", "versionstamped value", "own set", "own clear", "own clear_range", "own atomic"} {
		a.add("fired after "+cause, "watch/fired/%s", cause)
	}
	for _, cause := range []string{"nothing", "set", "clear", "clear_range", "atomic", "own set", "own clear", "own atomic"} {
		a.add("quiet after "+cause+map[bool]string{true: " that does not change the value"}[cause != "nothing"], "watch/quiet/%s", cause)
	}
	a.add("cancelled by its owner", "watch/cancelled")
	a.add("fails with the fault of an earlier call", "watch/error of an earlier call")
	for _, c := range watchErrors {
		a.add(fmt.Sprintf("fails with %d (%s)", int(c), c), "watch/error %d", int(c))
	}
	a.explain("FoundationDB's documentation of the limit: `kv/embedded` `TestTooManyWatches`")
	return a
}

func versionCells() area {
	a := area{
		title: "Versions and life cycle", about: "Versions of reads and commits; what time does to them.",
		unproven: "FoundationDB's documentation: `kvtest.RunConformance`: life cycle",
	}
	a.add("set to another transaction's read version, or near it", "version/set from a read version")
	a.add("set to a committed version, or near it", "version/set from a committed version")
	a.add("committed version before the commit", "version/committed, before the commit")
	a.add("committed version of a transaction that wrote", "version/committed, of a transaction that wrote")
	a.add("committed version of a read-only transaction", "version/committed, of a read-only transaction")
	a.add("commit of a transaction that wrote", "life/commit/writes")
	a.add("commit of a read-only transaction", "life/commit/read-only")
	a.add("commit after a reset", "life/commit/after a reset")
	for _, c := range []struct{ what, decided string }{
		{"versions advance about a million a second", "FoundationDB's documentation of versions: `kv/embedded` `TestVersionsAdvance`"},
		{"versions jump over a restart", "FoundationDB jumps 100 million at a recovery: `kv/embedded` `TestVersionsJumpOverRestarts`"},
		{"1007 for reads and commits 5 s after the read version", "The code is recorded (Errors, above), with old versions; the time is FoundationDB's documented limit: `kv/embedded` `TestTooOldAfterFiveSeconds`"},
		{"the waits of OnError grow to the largest and no further", "FoundationDB's knobs: grown by 2, at most 1 s; 1007 and 1009 as documented: `kv/embedded` `TestOnErrorWaits`, `kv/embedded/internal/ryw` `TestBackoff`"},
		{"retry limit, largest delay and timeout last through OnError and not through Reset", "FoundationDB's documentation of the options for API version 730: `kv/embedded` `TestRetryOptionsLast`"},
	} {
		a.add(c.what, "time/%s", c.what)
		a.explain(c.decided)
	}
	return a
}

func sizeCells() area {
	a := area{
		title: "The size of a transaction", about: "GetApproximateSize after each kind of call, with read-your-writes and without.",
		unproven: "The same formula as for the other calls: `kvtest.RunConformance`: limits",
	}
	for _, op := range sizedOps {
		for _, view := range []string{"serializable", "read-your-writes disabled"} {
			if op == "watch" && view != "serializable" {
				continue // an error
			}
			a.add(fmt.Sprintf("after %s, %s", op, view), "size/%s/%s", op, view)
		}
	}
	return a
}

func limitCells() area {
	a := area{
		title: "Limits", about: "The largest that is possible; what is beyond is an error (Error codes, above).",
		unproven: "FoundationDB's documentation of its limits: `kvtest.RunConformance`: limits",
	}
	a.add("the largest key", "limit/key/largest")
	a.add("a key beyond that, read or cleared", "limit/key/read or cleared beyond the limit")
	a.add("the largest value", "limit/value/largest")
	a.add("a transaction that is too large", "limit/transaction/too large")
	return a
}
