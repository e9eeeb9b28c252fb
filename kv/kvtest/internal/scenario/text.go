// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

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
			return nil, fmt.Errorf("commit %d of transaction %d, whose versionstamp the recording uses, did not happen here", p.Stamp.N, p.Stamp.Slot)
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
