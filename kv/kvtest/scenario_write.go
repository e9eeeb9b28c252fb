// SPDX-License-Identifier: Apache-2.0

package kvtest

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
func textOf(b []byte, known stamps) text {
	for id, stamp := range known {
		if i := bytes.Index(b, stamp); i >= 0 {
			before, after := textOf(b[:i:i], known), textOf(b[i+len(stamp):], known)
			return append(append(before, part{stamp: &id}), after...)
		}
	}
	if len(b) == 0 {
		return nil
	}
	return text{{literal: b}}
}

// IsZero reports whether the text is empty, so that it is left out.
func (t text) IsZero() bool { return len(t) == 0 }

// MarshalJSON writes what UnmarshalJSON reads.
func (t text) MarshalJSON() ([]byte, error) {
	parts := []any{}
	for _, p := range t {
		if p.stamp != nil {
			parts = append(parts, map[string]int{"vs": p.stamp.Slot, "n": p.stamp.N})
			continue
		}
		parts = appendRuns(parts, p.literal)
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

// wanted writes an answer as a recorded one.
func (a answer) wanted(known stamps) json.RawMessage {
	pairs := func(kvs []kv.KeyValue) []pairText { return pairsOf(kvs, known) }
	ranges := func(all []kv.KeyRange) []pairText {
		texts := make([]pairText, len(all))
		for i, r := range all {
			texts[i] = pairText{textOf(r.Begin, known), textOf(r.End, known)}
		}
		return texts
	}
	var want any = struct{}{}
	switch a.kind {
	case "error":
		want = map[string]int{"error": int(a.code)}
	case "value":
		want = map[string]any{"value": nil}
		if a.bytes != nil {
			want = map[string]any{"value": textOf(a.bytes, known)}
		}
	case "key", "versionstamp":
		want = map[string]any{a.kind: textOf(a.bytes, known)}
	case "kvs":
		want = map[string]any{"kvs": pairs(a.kvs)}
	case "ranges":
		want = map[string]any{"read": ranges(a.read), "write": ranges(a.write)}
	case "fired", "ready":
		want = map[string]bool{a.kind: a.flag}
	case "version", "size":
		want = map[string]int64{a.kind: a.n}
	}
	line, err := json.Marshal(want)
	if err != nil {
		panic(err) // maps of texts, numbers and flags
	}
	return line
}

func pairsOf(kvs []kv.KeyValue, known stamps) []pairText {
	texts := make([]pairText, len(kvs))
	for i, pair := range kvs {
		texts[i] = pairText{textOf(pair.Key, known), textOf(pair.Value, known)}
	}
	return texts
}
