// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kazahana-db/kazahana/kv"
)

// commit makes the calls of the step in one transaction and commits it.
func (s *script) commit(d *datadriven.TestData) {
	tx := s.begin()
	defer tx.Cancel()
	s.calls(tx, "", d.Input)
	s.printf("%s", s.outcomeText(tx, tx.Commit(s.t.Context())))
}

// txn makes the calls of the step in the transaction of that name, which it begins if
// there is none. Without a name the transaction ends with the step.
func (s *script) txn(d *datadriven.TestData) {
	if len(d.CmdArgs) == 0 {
		tx := s.begin()
		defer tx.Cancel()
		s.calls(tx, "", d.Input)
		return
	}
	name := d.CmdArgs[0].Key
	if s.txns[name] == nil {
		s.txns[name] = s.begin()
	}
	s.calls(s.txns[name], name, d.Input)
}

func (s *script) begin() kv.Transaction {
	tx, err := s.db.Begin()
	if err != nil {
		s.t.Fatal(err)
	}
	return tx
}

// calls makes the calls of a transaction, one on each line.
func (s *script) calls(tx kv.Transaction, name, input string) {
	for line := range strings.Lines(input) {
		f := strings.Fields(line)
		switch f[0] {
		case "commit":
			s.printf("%s", s.outcomeText(tx, tx.Commit(s.t.Context())))
		case "submit":
			s.commits = append(s.commits, scriptFuture{name, tx.CommitAsync(), tx})
		case "watch":
			s.watches = append(s.watches, scriptFuture{name: "watch " + f[1], f: tx.Watch(unquote(s.t, f[1]))})
		case "cancel":
			tx.Cancel()
			delete(s.txns, name)
		default:
			if !s.read(tx, f) && !s.write(tx, f) {
				s.t.Fatalf("a transaction has no call %q", line)
			}
		}
	}
}

// read makes a call that reads, and reports whether f is one.
func (s *script) read(tx kv.Transaction, f []string) bool {
	ctx, r := s.t.Context(), kv.ReadTransaction(tx)
	call := f[0]
	if snapshot, ok := strings.CutPrefix(call, "snapshot-"); ok {
		call, r = snapshot, tx.Snapshot()
	}
	text, err := "", error(nil)
	switch call {
	case "get":
		var value []byte
		value, err = r.Get(unquote(s.t, f[1])).Get(ctx)
		text = quote(value)
	case "range":
		var pairs []kv.KeyValue
		pairs, err = r.GetRange(s.keyRange(f).Selectors(), kv.RangeOptions{Reverse: len(f) > 3}).Slice(ctx)
		text = pairsText(pairs)
	case "read-version":
		var version int64
		version, err = r.GetReadVersion().Get(ctx)
		text = s.version(version)
	default:
		return false
	}
	if err != nil {
		text = errorText(err)
	}
	s.printf("%s: %s", strings.Join(f, " "), text)
	return true
}

// write makes a call that writes or adjusts the transaction, and reports whether f is
// one.
func (s *script) write(tx kv.Transaction, f []string) bool {
	switch f[0] {
	case "set":
		tx.Set(unquote(s.t, f[1]), unquote(s.t, f[2]))
	case "clear":
		tx.Clear(unquote(s.t, f[1]))
	case "clear-range":
		tx.ClearRange(s.keyRange(f))
	case "atomic":
		tx.Atomic(s.operation(f[1]), unquote(s.t, f[2]), unquote(s.t, f[3]))
	case "at":
		tx.SetReadVersion(s.parseVersion(f[1]))
	case "read-conflict":
		s.fail(tx.AddReadConflictRange(s.keyRange(f)))
	case "write-conflict":
		s.fail(tx.AddWriteConflictRange(s.keyRange(f)))
	case "without-write-conflict": // of the next write
		s.fail(tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0))
	case "report-conflicts":
		s.fail(tx.SetOption(kv.OptionReportConflictingKeys, 0))
	default:
		return false
	}
	return true
}

func (s *script) keyRange(f []string) kv.KeyRange {
	return kv.KeyRange{Begin: unquote(s.t, f[1]), End: unquote(s.t, f[2])}
}

func (s *script) operation(name string) kv.MutationType {
	op, known := map[string]kv.MutationType{
		"add": kv.Add, "bit-or": kv.BitOr, "append": kv.AppendIfFits, "byte-max": kv.ByteMax,
		"compare-and-clear": kv.CompareAndClear, "stamped-key": kv.SetVersionstampedKey, "stamped-value": kv.SetVersionstampedValue,
	}[name]
	if !known {
		s.t.Fatalf("scripts have no atomic operation %q", name)
	}
	return op
}

func (s *script) outcomeText(tx kv.Transaction, err error) string {
	if err == nil {
		return s.committedText(tx)
	}
	text := errorText(err)
	if errors.Is(err, kv.ErrOutcomeUnknown) {
		text += ", and the outcome is unknown"
	}
	for _, r := range kv.ConflictsOf(err) {
		text += " " + rangeText(r)
	}
	return text
}

func (s *script) committedText(tx kv.Transaction) string {
	version, err := tx.GetCommittedVersion()
	switch {
	case err != nil:
		return errorText(err)
	case version < 0:
		return "committed, nothing to write"
	}
	return "committed at " + s.version(version)
}

// unquote returns the bytes that a script means: \x00 and the like are as in Go.
func unquote(t *testing.T, text string) []byte {
	t.Helper()
	b, err := strconv.Unquote(`"` + strings.Trim(text, `"`) + `"`)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return []byte(b)
}

// quote returns a key or value as a script has it.
func quote(b []byte) string {
	switch quoted := strconv.Quote(string(b)); {
	case b == nil:
		return "none"
	case len(b) == 0 || strings.ContainsAny(quoted, `\ `):
		return quoted
	}
	return string(b)
}

// rangeText writes a range from the successor of a as (a, and one up to it as a].
func rangeText(r kv.KeyRange) string {
	begin, after := bytes.CutSuffix(r.Begin, []byte{0})
	end, with := bytes.CutSuffix(r.End, []byte{0})
	return map[bool]string{false: "[", true: "("}[after] + quote(begin) + ", " + quote(end) + map[bool]string{false: ")", true: "]"}[with]
}

func pairsText(pairs []kv.KeyValue) string {
	var all []string
	for _, p := range pairs {
		all = append(all, quote(p.Key)+"="+quote(p.Value))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, " ")
}
