// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"encoding/hex"
	"encoding/json"

	"github.com/kazahana-db/kazahana/kv"
)

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

func PairsOf(kvs []kv.KeyValue, known Stamps) []PairText {
	texts := make([]PairText, len(kvs))
	for i, pair := range kvs {
		texts[i] = PairText{textOf(pair.Key, known), textOf(pair.Value, known)}
	}
	return texts
}
