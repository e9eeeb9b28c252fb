// SPDX-License-Identifier: Apache-2.0

// Package scenario reads, writes, compares and describes scenarios: the steps of
// up to four transactions and their answers, one JSON object a line.
package scenario

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
)

// Scenario is one line of a recorded trace.
type Scenario struct {
	Name  string     `json:"name"`
	Kind  string     `json:"kind"`
	Seed  uint64     `json:"seed"`
	Setup []PairText `json:"setup"`
	Steps []Step     `json:"steps"`
	Final []PairText `json:"final"`
}

// PairText is a key and a value.
type PairText [2]Text

// StampID names the n-th writing commit of a transaction slot.
type StampID struct{ Slot, N int }

// Stamps are the versionstamps learned so far in a run of a scenario.
type Stamps map[StampID][]byte

func ResolvePairs(texts []PairText, known Stamps) ([]kv.KeyValue, error) {
	pairs := make([]kv.KeyValue, len(texts))
	for i, t := range texts {
		key, err := t[0].Bytes(known)
		if err != nil {
			return nil, err
		}
		value, err := t[1].Bytes(known)
		if err != nil {
			return nil, err
		}
		pairs[i] = kv.KeyValue{Key: key, Value: value}
	}
	return pairs, nil
}

// Read reads a file of scenarios, one JSON object a line.
func Read(path string) ([]Scenario, error) {
	f, err := goldens.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Decode(f, path)
}

func Decode(r io.Reader, name string) ([]Scenario, error) {
	decoder := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	var all []Scenario
	for {
		var s Scenario
		switch err := decoder.Decode(&s); err {
		case nil:
			s.correct()
			all = append(all, s)
		case io.EOF:
			return all, nil
		default:
			return nil, fmt.Errorf("%s, scenario %d: %w", name, len(all)+1, err)
		}
	}
}

// corrected are answers that a recording got wrong: scenario, step, answer.
//
// Of two commits at once, without protection, the second is refused and the
// first goes its way; the recorder waited for the second one twice.
var corrected = map[string]map[int]string{
	"errors/during_commit/protected=false/commit": {5: "{}"},
}

// hurried are answers that depend on which of two is faster: OnError's wait has
// a random length, and after it comes a reset, which cancels a commit under way.
var hurried = map[string]map[int]string{
	"errors/during_commit/protected=true/on_error_1020": {4: `{"error":1025}`},
}

func (s *Scenario) correct() {
	for i, want := range corrected[s.Name] {
		s.Steps[i].Want = json.RawMessage(want)
	}
	for i, or := range hurried[s.Name] {
		s.Steps[i].Or = json.RawMessage(or)
	}
}

func PairsOf(kvs []kv.KeyValue, known Stamps) []PairText {
	texts := make([]PairText, len(kvs))
	for i, pair := range kvs {
		texts[i] = PairText{textOf(pair.Key, known), textOf(pair.Value, known)}
	}
	return texts
}

// extras are the arguments that several operations share.
func (st *Step) extras(known Stamps) []string {
	var extra []string
	switch st.Op {
	case "get", "clear", "watch", "add_read_conflict_key", "add_write_conflict_key":
		extra = append(extra, st.Key.show(known))
	}
	if st.Reverse {
		extra = append(extra, "reverse")
	}
	if st.Snapshot {
		extra = append(extra, "snapshot")
	}
	return extra
}

// Step is one call of a scenario and what the cluster answered.
type Step struct {
	Tx       int             `json:"tx"`
	Op       string          `json:"op"`
	GRV      bool            `json:"grv,omitzero"`
	ID       int             `json:"id,omitzero"`
	WaitMS   int             `json:"wait_ms,omitzero"`
	Key      Text            `json:"key,omitzero"`
	Value    Text            `json:"value,omitzero"`
	From     Text            `json:"from,omitzero"`
	To       Text            `json:"to,omitzero"`
	Begin    SelectorText    `json:"begin,omitzero"`
	End      SelectorText    `json:"end,omitzero"`
	OrEqual  bool            `json:"or_equal,omitzero"`
	Offset   int             `json:"offset,omitzero"`
	Limit    int             `json:"limit,omitzero"`
	Reverse  bool            `json:"reverse,omitzero"`
	Snapshot bool            `json:"snapshot,omitzero"`
	Mode     string          `json:"mode,omitzero"`
	Mutation string          `json:"mutation,omitzero"`
	Option   string          `json:"option,omitzero"`
	Arg      int64           `json:"arg,omitzero"`
	Base     string          `json:"base,omitzero"`
	Of       int             `json:"of,omitzero"`
	Code     int             `json:"code,omitzero"`
	Want     json.RawMessage `json:"want,omitzero"`
	Or       json.RawMessage `json:"-"` // another right answer
}

func (s SelectorText) show(known Stamps) string {
	sel, err := s.Selector(known)
	if err != nil {
		return "‹" + err.Error() + "›"
	}
	return sel.String()
}

type SelectorText struct {
	Key     Text `json:"key"`
	OrEqual bool `json:"or_equal,omitzero"`
	Offset  int  `json:"offset,omitzero"`
}

func (s SelectorText) Selector(known Stamps) (kv.KeySelector, error) {
	key, err := s.Key.Bytes(known)
	return kv.KeySelector{Key: key, OrEqual: s.OrEqual, Offset: s.Offset}, err
}

func (t Text) show(known Stamps) string {
	b, err := t.Bytes(known)
	if err != nil {
		return "‹" + err.Error() + "›"
	}
	return showBytes(b, known)
}

// Text is bytes as a trace writes them: literal parts, runs of one byte, and
// versionstamps that are not known before their commit.
type Text []part

type part struct {
	Literal []byte
	Stamp   *StampID
}

// UnmarshalJSON reads a hex string or a list of parts.
func (t *Text) UnmarshalJSON(data []byte) error {
	raws := []json.RawMessage{data}
	if len(data) > 0 && data[0] == '[' {
		raws = nil
		if err := json.Unmarshal(data, &raws); err != nil {
			return err
		}
	}
	*t = make(Text, 0, len(raws))
	for _, raw := range raws {
		p, err := parsePart(raw)
		if err != nil {
			return err
		}
		*t = append(*t, p)
	}
	return nil
}

func parsePart(raw json.RawMessage) (part, error) {
	if raw[0] == '"' {
		literal, err := hex.DecodeString(string(bytes.Trim(raw, `"`)))
		return part{Literal: literal}, err
	}
	var p struct {
		Rep   string
		Times int
		VS    *int
		N     int
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return part{}, err
	}
	if p.VS != nil {
		return part{Stamp: &StampID{*p.VS, p.N}}, nil
	}
	rep, err := hex.DecodeString(p.Rep)
	return part{Literal: bytes.Repeat(rep, p.Times)}, err
}

// Bytes resolves the text with the stamps learned so far. It is never nil.
func (t Text) Bytes(known Stamps) ([]byte, error) {
	if len(t) == 1 && t[0].Stamp == nil {
		return t[0].Literal, nil
	}
	b := []byte{}
	for _, p := range t {
		if p.Stamp == nil {
			b = append(b, p.Literal...)
			continue
		}
		stamp, ok := known[*p.Stamp]
		if !ok {
			return nil, fmt.Errorf("commit %d of transaction %d did not happen here; the recording uses its versionstamp", p.Stamp.N, p.Stamp.Slot)
		}
		b = append(b, stamp...)
	}
	return b, nil
}

// longRun is how many equal bytes are written as a run.
const longRun = 64

// textOf returns bytes as a trace writes them: the stamps that are known by
// their names, long runs of a byte as runs.
func textOf(b []byte, known Stamps) Text {
	for id, stamp := range known {
		if i := bytes.Index(b, stamp); i >= 0 {
			before, after := textOf(b[:i:i], known), textOf(b[i+len(stamp):], known)
			return append(append(before, part{Stamp: &id}), after...)
		}
	}
	if len(b) == 0 {
		return nil
	}
	return Text{{Literal: b}}
}

// IsZero reports whether the text is empty, so that it is left out.
func (t Text) IsZero() bool { return len(t) == 0 }

// MarshalJSON writes what UnmarshalJSON reads.
func (t Text) MarshalJSON() ([]byte, error) {
	parts := []any{}
	for _, p := range t {
		if p.Stamp != nil {
			parts = append(parts, map[string]int{"vs": p.Stamp.Slot, "n": p.Stamp.N})
			continue
		}
		parts = appendRuns(parts, p.Literal)
	}
	switch {
	case len(parts) == 0:
		return []byte(`""`), nil
	case len(parts) == 1:
		return json.Marshal(parts[0])
	}
	return json.Marshal(parts)
}

// appendRuns writes literal bytes, long runs apart from the rest.
func appendRuns(parts []any, b []byte) []any {
	from := 0
	literal := func(to int) {
		if from < to {
			parts = append(parts, hex.EncodeToString(b[from:to]))
		}
	}
	for i := 0; i < len(b); {
		end := i
		for end < len(b) && b[end] == b[i] {
			end++
		}
		if end-i >= longRun {
			literal(i)
			parts = append(parts, map[string]any{"rep": hex.EncodeToString(b[i : i+1]), "times": end - i})
			from = end
		}
		i = end
	}
	literal(len(b))
	return parts
}

// Describe prints a step as the call that it stands for.
func Describe(st *Step, known Stamps) string {
	var args []string
	add := func(format string, a ...any) { args = append(args, fmt.Sprintf(format, a...)) }
	switch st.Op {
	case "get_range":
		add("%s to %s, limit %d, mode %s", st.Begin.show(known), st.End.show(known), st.Limit, st.Mode)
	case "get_key":
		add("%s", SelectorText{st.Key, st.OrEqual, st.Offset}.show(known))
	case "clear_range", "add_read_conflict_range", "add_write_conflict_range":
		add("%s to %s", st.From.show(known), st.To.show(known))
	case "set":
		add("%s, %s", st.Key.show(known), st.Value.show(known))
	case "atomic":
		add("%s, %s, %s", st.Mutation, st.Key.show(known), st.Value.show(known))
	case "set_option":
		add("%s, %d", st.Option, st.Arg)
	case "set_read_version":
		add("%s %d %+d", st.Base, st.Of, st.Arg)
	case "on_error":
		add("%d", st.Code)
	case "watch", "watch_state", "cancel_watch", "get_versionstamp", "await_versionstamp":
		add("id %d", st.ID)
	}
	args = append(args, st.extras(known)...)
	return fmt.Sprintf("tx %d: %s(%s)", st.Tx, st.Op, strings.Join(args, ", "))
}

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
