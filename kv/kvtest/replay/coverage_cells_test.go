// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
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
		title: "Methods", about: "Each method of kv.Database, kv.Transaction and kv.ConflictRanger, answering and failing with a code.",
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
	for _, c := range constantsOf(t, "database.go", "Option") {
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
