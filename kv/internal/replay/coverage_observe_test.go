// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// Step notes what one step proves.
func (o *observer) step(st *scenario.Step) {
	s, w := o.slot(st), answerOf(st)
	o.method(st, w)
	if w.code != 0 && st.Op != "on_error" {
		o.prove("error/%d/returned", w.code)
	}
	switch st.Op {
	case "begin":
		if st.GRV {
			s.first = o.at
		}
		return
	case "get", "get_key", "get_range":
		o.read(s, st, w)
	case "set", "clear", "clear_range", "atomic", "add_write_conflict_key", "add_write_conflict_range":
		o.write(s, st)
	case "add_read_conflict_key", "add_read_conflict_range":
		s.reads = append(s.reads, observedRead{st.Op, o.at})
	case "set_option":
		o.option(s, st, w)
	case "commit", "commit_await":
		o.commit(s, st, w)
	case "on_error":
		o.onError(s, st, w)
	case "reset":
		o.slots[st.Tx] = newTransactionState()
		o.slots[st.Tx].reset = true
	case "cancel":
		s.cancelled = true
	case "get_approximate_size":
		o.size(s, w)
	default:
		o.rest(s, st, w)
	}
	if s.began && w.code == 0 {
		for _, name := range s.options {
			o.prove("option/%s/used", name)
		}
	}
	s.began = true
	s.asks[st.Op] = s.asks[st.Op] || w.code == 0
	o.limits(s, st, w)
}

// method notes the methods that a step calls.
func (o *observer) method(st *scenario.Step, w answer) {
	name := methodOfOp[st.Op]
	if name == "" {
		return
	}
	end := "answered"
	if w.code != 0 {
		end = "failed"
	}
	o.prove("method/%s/%s", name, end)
	if st.Snapshot {
		o.prove("method/Transaction.Snapshot/answered")
	}
}

// methodOfOp names the contract's method that each step calls.
var methodOfOp = map[string]string{
	"begin": "Database.Begin", "reset": "Transaction.Reset", "cancel": "Transaction.Cancel",
	"get_read_version": "Transaction.GetReadVersion", "set_read_version": "Transaction.SetReadVersion",
	"get": "Transaction.Get", "get_key": "Transaction.GetKey", "get_range": "Transaction.GetRange",
	"set": "Transaction.Set", "clear": "Transaction.Clear", "clear_range": "Transaction.ClearRange", "atomic": "Transaction.Atomic",
	"add_read_conflict_key": "Transaction.AddReadConflictKey", "add_read_conflict_range": "Transaction.AddReadConflictRange",
	"add_write_conflict_key": "Transaction.AddWriteConflictKey", "add_write_conflict_range": "Transaction.AddWriteConflictRange",
	"conflict_ranges": "Transaction.ConflictRanges", "set_option": "Transaction.SetOption",
	"watch": "Transaction.Watch", "commit": "Transaction.Commit", "commit_start": "Transaction.CommitAsync",
	"get_committed_version": "Transaction.GetCommittedVersion", "get_approximate_size": "Transaction.GetApproximateSize",
	"get_versionstamp": "Transaction.GetVersionstamp", "on_error": "Transaction.OnError",
}

// write keeps a write; it proves nothing before something shows it.
func (o *observer) write(s *transactionState, st *scenario.Step) {
	w := observedWrite{kind: st.Op}
	if w.changes() {
		w.silent, s.noConfl = s.noConfl, false
	}
	key, plain := plainKey(st.Key)
	switch st.Op {
	case "clear_range", "add_write_conflict_range":
		from, ok := plainKey(st.From)
		to, okTo := plainKey(st.To)
		if ok && okTo {
			w.keys = kv.KeyRange{Begin: from, End: to}
		}
	default:
		if plain {
			w.keys = kv.KeyRange{Begin: key, End: keyAfter(key)}
		}
	}
	if st.Op == "atomic" {
		w.mutation = st.Mutation
		switch operand, ok := plainKey(st.Value); {
		case strings.HasPrefix(st.Mutation, "set_versionstamped"):
			w.kind = "versionstamped " + strings.TrimPrefix(st.Mutation, "set_versionstamped_")
			if w.kind == "versionstamped key" {
				w.keys = kv.KeyRange{}
			}
		case ok && plain:
			w.base = o.base(s, key, operand, st.Mutation)
		}
	}
	s.writes = append(s.writes, w)
}

// read notes a read: how selectors and limits came out, and what it shows of own
// writes.
func (o *observer) read(s *transactionState, st *scenario.Step, w answer) {
	if s.first < 0 {
		s.first = o.at
	}
	kind := st.Op
	if st.Snapshot {
		kind = "snapshot " + kind
	}
	s.reads = append(s.reads, observedRead{kind, o.at})
	if w.code == int(kv.CodeAccessedUnreadable) {
		o.stampsUnread(s, st)
	}
	if w.code != 0 {
		return
	}
	view := s.view(st.Snapshot)
	switch st.Op {
	case "get":
		o.point(s, st, view)
	case "get_key":
		o.selector(s, st, w, view)
	case "get_range":
		o.ranged(s, st, w, view)
	}
}

// seen notes that a read came over writes of these kinds.
func (o *observer) seen(read, view string, kinds ...string) {
	if len(kinds) == 0 {
		o.prove("own/%s/nothing/%s", read, view)
	}
	for _, kind := range kinds {
		o.prove("own/%s/%s/%s", read, kind, view)
	}
}

func (o *observer) point(s *transactionState, st *scenario.Step, view string) {
	key, ok := plainKey(st.Key)
	if !ok {
		return
	}
	o.metadata(s, key)
	w := s.last(key)
	if w == nil {
		o.seen("get", view)
		return
	}
	if w.kind == "versionstamped value" && slices.Contains(s.options, "bypass_unreadable") {
		o.prove("stamp/value/read with bypass_unreadable")
		return
	}
	o.seen("get", view, w.kind)
	if w.kind == "atomic" && w.base != "" && (view == "serializable" || view == "snapshot") {
		o.prove("atomic/%s/%s/read", w.mutation, w.base)
	}
}

// within returns the kinds of own writes between two keys.
func (s *transactionState) within(from, to []byte) (kinds []string) {
	for i := range s.writes {
		w := &s.writes[i]
		if w.changes() && w.keys.End != nil && bytes.Compare(w.keys.Begin, to) < 0 && bytes.Compare(from, w.keys.End) < 0 {
			kinds = append(kinds, w.kind)
		}
	}
	return kinds
}

// classOf sorts a selector's offset.
func classOf(offset int) string {
	switch {
	case offset < 0:
		return "-1 and less"
	case offset > 1:
		return "2 and more"
	case offset == 0:
		return "0"
	}
	return "1"
}

func (o *observer) selector(s *transactionState, st *scenario.Step, w answer, view string) {
	base, ok := plainKey(st.Key)
	if !ok || w.Key == nil {
		return
	}
	key, err := w.Key.Bytes(nil)
	if err != nil {
		return
	}
	where := "a key"
	if len(key) == 0 && st.Offset < 1 {
		where = "the beginning"
	} else if bytes.Equal(key, []byte{0xff}) && st.Offset > 0 {
		where = "the end"
	}
	o.prove("selector/%s/%t/%s", classOf(st.Offset), st.OrEqual, where)
	if st.OrEqual {
		base = keyAfter(base)
	}
	from, to := base, keyAfter(key)
	if st.Offset < 1 {
		from, to = key, base
	}
	o.seen("get_key", view, s.within(from, to)...)
}

func (o *observer) ranged(s *transactionState, st *scenario.Step, w answer, view string) {
	if w.KVs == nil {
		return
	}
	count := "without a limit"
	if st.Limit > 0 && len(*w.KVs) == st.Limit {
		count = "cut by the limit"
	} else if st.Limit > 0 {
		count = "limit not reached"
	}
	o.prove("range/%s/%s/%s", st.Mode, direction(st.Reverse), count)
	o.prove("ends/%s/%s/%s", direction(st.Reverse), classOf(st.Begin.Offset), classOf(st.End.Offset))
	from, ok := plainKey(st.Begin.Key)
	to, okTo := plainKey(st.End.Key)
	if n := len(*w.KVs); count == "cut by the limit" {
		last, known := plainKey((*w.KVs)[n-1][0])
		if ok = ok && known; st.Reverse {
			from = last
		} else {
			to = keyAfter(last)
		}
	}
	if ok && okTo && st.Begin.Offset == 1 && st.End.Offset == 1 && bytes.Compare(from, to) < 0 {
		o.seen("get_range "+direction(st.Reverse), view, s.within(from, to)...)
	}
}

// keyAfter returns the first key after key.
func keyAfter(key []byte) []byte { return append(slices.Clone(key), 0) }

func direction(reverse bool) string {
	if reverse {
		return "backward"
	}
	return "forward"
}
