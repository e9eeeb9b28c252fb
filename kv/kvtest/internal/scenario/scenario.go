// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bufio"
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

func PairsOf(kvs []kv.KeyValue, known Stamps) []PairText {
	texts := make([]PairText, len(kvs))
	for i, pair := range kvs {
		texts[i] = PairText{textOf(pair.Key, known), textOf(pair.Value, known)}
	}
	return texts
}
