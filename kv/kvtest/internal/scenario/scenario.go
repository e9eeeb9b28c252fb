// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

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

type SelectorText struct {
	Key     Text `json:"key"`
	OrEqual bool `json:"or_equal,omitzero"`
	Offset  int  `json:"offset,omitzero"`
}

// PairText is a key and a value.
type PairText [2]Text

// Text is bytes as a trace writes them: literal parts, runs of one byte, and
// versionstamps that are not known before their commit.
type Text []part

type part struct {
	Literal []byte
	Stamp   *StampID
}

// StampID names the n-th writing commit of a transaction slot.
type StampID struct{ Slot, N int }

// Stamps are the versionstamps learned so far in a run of a scenario.
type Stamps map[StampID][]byte

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

func (s SelectorText) Selector(known Stamps) (kv.KeySelector, error) {
	key, err := s.Key.Bytes(known)
	return kv.KeySelector{Key: key, OrEqual: s.OrEqual, Offset: s.Offset}, err
}

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

// hurried are answers that depend on which of two is faster: OnError's wait, whose
// length is chance, is followed by a reset, which cancels a commit under way.
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
