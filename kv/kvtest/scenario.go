// SPDX-License-Identifier: Apache-2.0

package kvtest

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

// scenario is one line of a recorded trace.
type scenario struct {
	Name  string     `json:"name"`
	Kind  string     `json:"kind"`
	Seed  uint64     `json:"seed"`
	Setup []pairText `json:"setup"`
	Steps []step     `json:"steps"`
	Final []pairText `json:"final"`
}

// step is one call of a scenario and what the cluster answered.
type step struct {
	Tx       int             `json:"tx"`
	Op       string          `json:"op"`
	GRV      bool            `json:"grv,omitzero"`
	ID       int             `json:"id,omitzero"`
	WaitMS   int             `json:"wait_ms,omitzero"`
	Key      text            `json:"key,omitzero"`
	Value    text            `json:"value,omitzero"`
	From     text            `json:"from,omitzero"`
	To       text            `json:"to,omitzero"`
	Begin    selectorText    `json:"begin,omitzero"`
	End      selectorText    `json:"end,omitzero"`
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

type selectorText struct {
	Key     text `json:"key"`
	OrEqual bool `json:"or_equal,omitzero"`
	Offset  int  `json:"offset,omitzero"`
}

// pairText is a key and a value.
type pairText [2]text

// text is bytes as a trace writes them: literal parts, runs of one byte, and
// versionstamps that are not known before their commit.
type text []part

type part struct {
	literal []byte
	stamp   *stampID
}

// stampID names the n-th writing commit of a transaction slot.
type stampID struct{ Slot, N int }

// stamps are the versionstamps learned so far in a run of a scenario.
type stamps map[stampID][]byte

// UnmarshalJSON reads a hex string or a list of parts.
func (t *text) UnmarshalJSON(data []byte) error {
	raws := []json.RawMessage{data}
	if len(data) > 0 && data[0] == '[' {
		raws = nil
		if err := json.Unmarshal(data, &raws); err != nil {
			return err
		}
	}
	*t = make(text, 0, len(raws))
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
		return part{literal: literal}, err
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
		return part{stamp: &stampID{*p.VS, p.N}}, nil
	}
	rep, err := hex.DecodeString(p.Rep)
	return part{literal: bytes.Repeat(rep, p.Times)}, err
}

// bytes resolves the text with the stamps learned so far. It is never nil.
func (t text) bytes(known stamps) ([]byte, error) {
	if len(t) == 1 && t[0].stamp == nil {
		return t[0].literal, nil
	}
	b := []byte{}
	for _, p := range t {
		if p.stamp == nil {
			b = append(b, p.literal...)
			continue
		}
		stamp, ok := known[*p.stamp]
		if !ok {
			return nil, fmt.Errorf("commit %d of transaction %d, whose versionstamp the recording uses, did not happen here", p.stamp.N, p.stamp.Slot)
		}
		b = append(b, stamp...)
	}
	return b, nil
}

func (s selectorText) selector(known stamps) (kv.KeySelector, error) {
	key, err := s.Key.bytes(known)
	return kv.KeySelector{Key: key, OrEqual: s.OrEqual, Offset: s.Offset}, err
}

func resolvePairs(texts []pairText, known stamps) ([]kv.KeyValue, error) {
	pairs := make([]kv.KeyValue, len(texts))
	for i, t := range texts {
		key, err := t[0].bytes(known)
		if err != nil {
			return nil, err
		}
		value, err := t[1].bytes(known)
		if err != nil {
			return nil, err
		}
		pairs[i] = kv.KeyValue{Key: key, Value: value}
	}
	return pairs, nil
}

// readScenarios reads a file of scenarios, one JSON object a line.
func readScenarios(path string) ([]scenario, error) {
	f, err := goldens.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeScenarios(f, path)
}

func decodeScenarios(r io.Reader, name string) ([]scenario, error) {
	decoder := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	var all []scenario
	for {
		var s scenario
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

func (s *scenario) correct() {
	for i, want := range corrected[s.Name] {
		s.Steps[i].Want = json.RawMessage(want)
	}
	for i, or := range hurried[s.Name] {
		s.Steps[i].Or = json.RawMessage(or)
	}
}
