// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
)

// Answer is what one step came to: an error or a result of one kind.
type Answer struct {
	Kind  string // "", error, value, key, kvs, ranges, fired, ready, versionstamp, version, size
	Code  kv.Code
	Err   error // an error without a code
	Bytes []byte
	KVs   []kv.KeyValue
	Read  []kv.KeyRange
	Write []kv.KeyRange
	N     int64
	Flag  bool
}

// ErrorAnswer is the answer of a step that returns nothing.
func ErrorAnswer(err error) Answer {
	if err == nil {
		return Answer{}
	}
	if code := kv.CodeOf(err); code != 0 {
		return Answer{Kind: "error", Code: code, Err: err}
	}
	return Answer{Kind: "error", Err: err}
}

// OrError returns a, or the error's answer if there is one.
func (a Answer) OrError(err error) Answer {
	if err != nil {
		return ErrorAnswer(err)
	}
	return a
}

// Equal reports whether two answers are the same. Lists are compared by bytes.
func (a Answer) Equal(b Answer) bool {
	if a.Kind != b.Kind {
		return false
	}
	if a.Kind == "error" {
		return a.Code != 0 && a.Code == b.Code
	}
	return (a.Bytes == nil) == (b.Bytes == nil) && bytes.Equal(a.Bytes, b.Bytes) &&
		slices.EqualFunc(a.KVs, b.KVs, samePair) &&
		slices.EqualFunc(a.Read, b.Read, sameRange) && slices.EqualFunc(a.Write, b.Write, sameRange) &&
		a.N == b.N && a.Flag == b.Flag
}

func samePair(a, b kv.KeyValue) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
}

func sameRange(a, b kv.KeyRange) bool {
	return bytes.Equal(a.Begin, b.Begin) && bytes.Equal(a.End, b.End)
}

// RecordedAnswer is the recorded answer of a step.
type RecordedAnswer struct {
	Error        *int
	Value        *json.RawMessage // null where the key is absent
	Key          *Text
	KVs          *[]PairText
	Read, Write  *[][2]Text
	Fired, Ready *bool
	Versionstamp *Text
	Version      *int64
	Size         *int64
}

// ParseAnswer turns a recorded answer into the answer that must come out.
func ParseAnswer(raw json.RawMessage, known Stamps) (Answer, error) {
	var w RecordedAnswer
	if err := json.Unmarshal(raw, &w); err != nil {
		return Answer{}, fmt.Errorf("unreadable answer in the recording: %w", err)
	}
	switch {
	case w.Error != nil:
		return Answer{Kind: "error", Code: kv.Code(*w.Error)}, nil
	case bytes.Contains(raw, []byte(`"value"`)):
		return wantValue(w.Value, known)
	case w.Key != nil:
		key, err := w.Key.Bytes(known)
		return Answer{Kind: "key", Bytes: key}, err
	case w.KVs != nil:
		kvs, err := ResolvePairs(*w.KVs, known)
		return Answer{Kind: "kvs", KVs: kvs}, err
	case w.Read != nil || w.Write != nil:
		return wantRanges(w, known)
	case w.Versionstamp != nil:
		stamp, err := w.Versionstamp.Bytes(known)
		return Answer{Kind: "versionstamp", Bytes: stamp}, err
	}
	return wantScalar(w), nil
}

func wantValue(raw *json.RawMessage, known Stamps) (Answer, error) {
	if raw == nil || string(*raw) == "null" {
		return Answer{Kind: "value"}, nil
	}
	var t Text
	if err := json.Unmarshal(*raw, &t); err != nil {
		return Answer{}, err
	}
	value, err := t.Bytes(known)
	return Answer{Kind: "value", Bytes: value}, err
}

func wantScalar(w RecordedAnswer) Answer {
	switch {
	case w.Fired != nil:
		return Answer{Kind: "fired", Flag: *w.Fired}
	case w.Ready != nil:
		return Answer{Kind: "ready", Flag: *w.Ready}
	case w.Version != nil:
		return Answer{Kind: "version", N: *w.Version}
	case w.Size != nil:
		return Answer{Kind: "size", N: *w.Size}
	}
	return Answer{}
}

func wantRanges(w RecordedAnswer, known Stamps) (Answer, error) {
	read, errRead := resolveRanges(w.Read, known)
	write, errWrite := resolveRanges(w.Write, known)
	return Answer{Kind: "ranges", Read: read, Write: write}, errors.Join(errRead, errWrite)
}

func resolveRanges(texts *[][2]Text, known Stamps) ([]kv.KeyRange, error) {
	if texts == nil {
		return nil, nil
	}
	ranges := make([]kv.KeyRange, len(*texts))
	for i, t := range *texts {
		begin, err := t[0].Bytes(known)
		if err != nil {
			return nil, err
		}
		end, err := t[1].Bytes(known)
		if err != nil {
			return nil, err
		}
		ranges[i] = kv.KeyRange{Begin: begin, End: end}
	}
	return ranges, nil
}

// Show prints an answer for people; known stamps appear by their names.
func (a Answer) Show(known Stamps) string {
	switch a.Kind {
	case "":
		return "no error"
	case "error":
		return a.showError()
	case "kvs":
		return showPairs(a.KVs, known)
	case "ranges":
		return "read " + ShowRanges(a.Read, known) + " write " + ShowRanges(a.Write, known)
	case "value", "key", "versionstamp":
		return a.Kind + " " + showBytes(a.Bytes, known)
	case "version", "size":
		return fmt.Sprintf("%s %d", a.Kind, a.N)
	}
	return fmt.Sprintf("%s %t", a.Kind, a.Flag)
}

func (a Answer) showError() string {
	if a.Code == 0 {
		return "error: " + a.Err.Error()
	}
	if a.Err == nil {
		return fmt.Sprintf("error %d (%s)", int(a.Code), a.Code)
	}
	return fmt.Sprintf("error %d (%v)", int(a.Code), a.Err)
}

func showPairs(kvs []kv.KeyValue, known Stamps) string {
	texts := make([]string, len(kvs))
	for i, pair := range kvs {
		texts[i] = showBytes(pair.Key, known) + "=" + showBytes(pair.Value, known)
	}
	return fmt.Sprintf("%d pairs {%s}", len(kvs), strings.Join(texts, ", "))
}

func ShowRanges(ranges []kv.KeyRange, known Stamps) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i] = "[" + showBytes(r.Begin, known) + ", " + showBytes(r.End, known) + ")"
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// showBytes quotes bytes; long runs are cut and learned stamps are named.
func showBytes(b []byte, known Stamps) string {
	if b == nil {
		return "absent"
	}
	for id, stamp := range known {
		if i := bytes.Index(b, stamp); i >= 0 {
			return fmt.Sprintf("%s‹stamp %d.%d›%s", showBytes(b[:i:i], nil), id.Slot, id.N, showBytes(b[i+len(stamp):], nil))
		}
	}
	if len(b) > 80 {
		return fmt.Sprintf("%q…(%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}

// Wanted writes an answer as a recorded one.
func (a Answer) Wanted(known Stamps) json.RawMessage {
	pairs := func(kvs []kv.KeyValue) []PairText { return PairsOf(kvs, known) }
	ranges := func(all []kv.KeyRange) []PairText {
		texts := make([]PairText, len(all))
		for i, r := range all {
			texts[i] = PairText{textOf(r.Begin, known), textOf(r.End, known)}
		}
		return texts
	}
	var want any = struct{}{}
	switch a.Kind {
	case "error":
		want = map[string]int{"error": int(a.Code)}
	case "value":
		want = map[string]any{"value": nil}
		if a.Bytes != nil {
			want = map[string]any{"value": textOf(a.Bytes, known)}
		}
	case "key", "versionstamp":
		want = map[string]any{a.Kind: textOf(a.Bytes, known)}
	case "kvs":
		want = map[string]any{"kvs": pairs(a.KVs)}
	case "ranges":
		want = map[string]any{"read": ranges(a.Read), "write": ranges(a.Write)}
	case "fired", "ready":
		want = map[string]bool{a.Kind: a.Flag}
	case "version", "size":
		want = map[string]int64{a.Kind: a.N}
	}
	line, err := json.Marshal(want)
	if err != nil {
		panic(err) // maps of texts, numbers and flags
	}
	return line
}

// Named returns the answer with each known versionstamp replaced by a name of
// it that does not depend on the engine.
func (a Answer) Named(known Stamps) Answer {
	if len(known) == 0 {
		return a
	}
	rename := func(b []byte) []byte {
		for id, stamp := range known {
			if bytes.Contains(b, stamp) {
				b = bytes.ReplaceAll(b, stamp, stampName(id))
			}
		}
		return b
	}
	return a.With(rename)
}

var ReadVersionName = []byte("‹read version›")

// AsLeast returns the answer with the names of stamps replaced by that of the
// least stamp after the read version. An engine with a read version that is that of a
// commit cannot tell the two apart.
func (a Answer) AsLeast(ids []StampID) Answer {
	if len(ids) == 0 {
		return a
	}
	least := append(bytes.Clone(ReadVersionName), 0, 0)
	return a.With(func(b []byte) []byte {
		for _, id := range ids {
			b = bytes.ReplaceAll(b, stampName(id), least)
		}
		return b
	})
}

func stampName(id StampID) []byte { return fmt.Appendf(nil, "‹stamp %d.%d›", id.Slot, id.N) }

// With returns the answer with all its bytes passed through rename.
func (a Answer) With(rename func([]byte) []byte) Answer {
	a.Bytes = rename(a.Bytes)
	a.KVs = slices.Clone(a.KVs)
	for i, pair := range a.KVs {
		a.KVs[i] = kv.KeyValue{Key: rename(pair.Key), Value: rename(pair.Value)}
	}
	a.Read, a.Write = renameRanges(a.Read, rename), renameRanges(a.Write, rename)
	return a
}

func renameRanges(ranges []kv.KeyRange, rename func([]byte) []byte) []kv.KeyRange {
	ranges = slices.Clone(ranges)
	for i, r := range ranges {
		ranges[i] = kv.KeyRange{Begin: rename(r.Begin), End: rename(r.End)}
	}
	return ranges
}

// Shape leaves out what is particular to one scenario.
func (d Difference) Shape() string {
	op, _, _ := strings.Cut(d.Op, "(")
	if _, call, ok := strings.Cut(op, ": "); ok {
		op = call
	}
	want, got := kindOf(d.Want), kindOf(d.Got)
	if want == got {
		return fmt.Sprintf("%s: another %s", op, want)
	}
	return fmt.Sprintf("%s: want %s, got %s", op, want, got)
}

// kindOf shortens a shown answer to its kind: an error keeps its code.
func kindOf(shown string) string {
	switch kind, rest, _ := strings.Cut(shown, " "); {
	case strings.HasPrefix(shown, "error"), shown == "no error":
		text, _, _ := strings.Cut(shown, " (")
		return text
	case strings.HasPrefix(rest, "pairs"):
		return "pairs"
	case kind == "read":
		return "conflict ranges"
	case rest == "absent":
		return shown
	case slices.Contains([]string{"value", "key", "versionstamp", "version", "size"}, kind):
		return kind
	}
	return shown
}

func ShowDifferences(all []Difference) string {
	const most = 5
	var b strings.Builder
	for i, d := range all {
		if i == most {
			fmt.Fprintf(&b, "\n…and %d more", len(all)-most)
			break
		}
		fmt.Fprintf(&b, "\n%s", d)
	}
	return b.String()
}

// Difference is a step, or the final contents, that came out otherwise.
type Difference struct {
	Step int // -1: the final contents
	Op   string
	Want string
	Got  string
}

// String tells the difference in two lines.
func (d Difference) String() string {
	where := fmt.Sprintf("step %d %s", d.Step, d.Op)
	if d.Step < 0 {
		where = d.Op
	}
	return fmt.Sprintf("%s\n\twant %s\n\tgot  %s", where, d.Want, d.Got)
}
