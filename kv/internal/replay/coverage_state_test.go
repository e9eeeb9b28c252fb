// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// observer goes through the steps of one recorded scenario and notes which cells
// of the ledger they prove. It claims a cell only where the steps before leave
// no doubt; what it cannot tell it does not claim.
type observer struct {
	cells   map[string]bool
	slots   map[int]*transactionState
	commits []observedCommit
	setup   map[string][]byte
	later   []claim
	watches map[int]*observedWatch
	at      int // the present step
}

// transactionState is what a transaction did since it began.
type transactionState struct {
	began     bool
	rywOff    bool
	snapshot  int // snapshot reads see own writes while it is not negative
	noConfl   bool
	options   []string
	writes    []observedWrite
	reads     []observedRead
	asks      map[string]bool // kinds of steps since the transaction was new
	first     int             // the step that fixed the read version; -1: none yet
	committed bool
	cancelled bool
	reset     bool
	failed    bool
}

type observedWrite struct {
	kind     string // set, clear, clear_range, atomic, versionstamped, add_write_conflict_key, …
	mutation string
	keys     kv.KeyRange
	base     string // what an atomic operation found
	silent   bool   // it adds no write conflict range
}

type observedRead struct {
	kind string
	step int
}

type observedCommit struct {
	step, slot int
	writes     []observedWrite
}

// claim is a cell that the final contents prove unless a later commit touches
// the key.
type claim struct {
	cell string
	key  []byte
	step int
}

func newObserver(s *scenario.Scenario) *observer {
	o := &observer{cells: map[string]bool{}, slots: map[int]*transactionState{}, setup: map[string][]byte{}, watches: map[int]*observedWatch{}}
	for _, p := range s.Setup {
		key, errKey := p[0].Bytes(nil)
		value, errValue := p[1].Bytes(nil)
		if errKey == nil && errValue == nil {
			o.setup[string(key)] = value
		}
	}
	return o
}

// observe returns the cells that a scenario proves.
func observe(s *scenario.Scenario) map[string]bool {
	o := newObserver(s)
	for i := range s.Steps {
		o.at = i
		o.step(&s.Steps[i])
	}
	for _, c := range o.later {
		if !o.touchedSince(c.key, c.step) {
			o.prove("%s", c.cell)
		}
	}
	o.repeatedStamps(s)
	return o.cells
}

func (o *observer) prove(format string, args ...any) { o.cells[fmt.Sprintf(format, args...)] = true }

// answer is a recorded answer.
type answer struct {
	code int // 0: no error
	scenario.RecordedAnswer
	raw []byte
}

func answerOf(st *scenario.Step) answer {
	w := answer{raw: st.Want}
	if json.Unmarshal(st.Want, &w.RecordedAnswer) == nil && w.Error != nil {
		w.code = *w.Error
	}
	return w
}

// slot returns a step's transaction, new where it begins anew.
func (o *observer) slot(st *scenario.Step) *transactionState {
	if s := o.slots[st.Tx]; s != nil && st.Op != "begin" {
		return s
	}
	o.slots[st.Tx] = newTransactionState()
	return o.slots[st.Tx]
}

func newTransactionState() *transactionState {
	return &transactionState{asks: map[string]bool{}, first: -1}
}

// plainKey returns a key that holds no versionstamp.
func plainKey(t scenario.Text) ([]byte, bool) {
	key, err := t.Bytes(nil)
	return key, err == nil
}

// touchedSince reports whether a commit after a step writes to key, or may.
func (o *observer) touchedSince(key []byte, step int) bool {
	for _, c := range o.commits {
		if c.step <= step {
			continue
		}
		for i := range c.writes {
			if c.writes[i].holds(key) || c.writes[i].keys.End == nil {
				return true
			}
		}
	}
	return false
}

// holds reports whether the write is one to key.
func (w *observedWrite) holds(key []byte) bool {
	return w.changes() && bytes.Compare(w.keys.Begin, key) <= 0 && bytes.Compare(key, w.keys.End) < 0
}

// changes reports whether the write changes values.
func (w *observedWrite) changes() bool {
	return w.kind != "add_write_conflict_key" && w.kind != "add_write_conflict_range"
}

// last returns the transaction's last write to key, or nil.
func (s *transactionState) last(key []byte) *observedWrite {
	for i := len(s.writes) - 1; i >= 0; i-- {
		if s.writes[i].holds(key) {
			return &s.writes[i]
		}
	}
	return nil
}

// base says what an atomic operation on key finds: the class of the stored value
// with the operand's length, or the transaction's own write before it; "" where
// that is not certain.
func (o *observer) base(s *transactionState, key, operand []byte, mutation string) string {
	if w := s.last(key); w != nil {
		switch {
		case w.kind == "atomic" && w.mutation == mutation:
			return "after the same operation"
		case w.kind == "atomic":
			return "after another operation"
		}
		return "after own " + w.kind
	}
	if o.touchedSince(key, -1) {
		return ""
	}
	value, there := o.setup[string(key)]
	switch {
	case !there:
		return "absent"
	case len(value) == 0:
		return "empty"
	case len(value) < len(operand):
		return "shorter than the operand"
	case len(value) > len(operand):
		return "longer than the operand"
	}
	return "as long as the operand"
}

// view says which view of the database a read has.
func (s *transactionState) view(snapshot bool) string {
	switch {
	case s.rywOff && snapshot:
		return "snapshot, read-your-writes disabled"
	case s.rywOff:
		return "read-your-writes disabled"
	case snapshot && s.snapshot < 0:
		return "snapshot without own writes"
	case snapshot:
		return "snapshot"
	}
	return "serializable"
}
