// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// commit notes what became of a transaction, and by which conflict.
func (o *observer) commit(s *transactionState, st *scenario.Step, w answer) {
	switch w.code {
	case 0, int(kv.CodeNotCommitted):
		o.conflict(s, st, w)
	}
	if w.code != 0 {
		s.failed = true
		return
	}
	s.committed = true
	if len(s.writes) == 0 {
		o.prove("life/commit/read-only")
		return
	}
	o.prove("life/commit/writes")
	if s.reset {
		o.prove("life/commit/after a reset")
	}
	o.commits = append(o.commits, observedCommit{o.at, st.Tx, s.writes})
	for i := range s.writes {
		o.claimWrite(s, &s.writes[i])
	}
}

// claimWrite claims what the final contents will show of a write.
func (o *observer) claimWrite(s *transactionState, w *observedWrite) {
	switch {
	case w.kind == "versionstamped key":
		o.prove("stamp/key/committed")
	case w.keys.End == nil || s.last(w.keys.Begin) != w:
	case w.kind == "versionstamped value" && string(w.keys.Begin) == kv.MetadataVersionKey:
		o.prove("metadata/stamp committed")
	case w.kind == "versionstamped value":
		o.later = append(o.later, claim{"stamp/value/committed", w.keys.Begin, o.at})
	case w.base != "":
		o.later = append(o.later, claim{"atomic/" + w.mutation + "/" + w.base + "/committed", w.keys.Begin, o.at})
	}
}

// conflict notes which kind of write a read conflicts with, where the
// transaction made one read and the others, at the same time, one kind of write.
func (o *observer) conflict(s *transactionState, st *scenario.Step, w answer) {
	if len(s.reads) != 1 || len(s.writes) == 0 || s.rywOff || s.snapshot < 0 {
		return
	}
	writer := ""
	for _, c := range o.commits {
		if c.slot == st.Tx || c.step < s.first {
			continue
		}
		for i := range c.writes {
			kind := c.writes[i].kind
			if c.writes[i].silent {
				kind += " without conflict range"
			}
			if writer != "" && writer != kind {
				return
			}
			writer = kind
		}
	}
	if writer == "" || s.first < 0 && w.code == 0 {
		return
	}
	verdict := "none"
	if w.code != 0 {
		verdict = "conflict"
	}
	o.prove("conflict/%s/%s/%s", s.reads[0].kind, writer, verdict)
}

// onError notes which codes are retried.
func (o *observer) onError(s *transactionState, st *scenario.Step, w answer) {
	if w.code == 0 {
		o.prove("error/%d/on_error", st.Code)
		o.slots[st.Tx] = newTransactionState()
		o.slots[st.Tx].reset = true
		return
	}
	if w.code == st.Code {
		o.prove("error/%d/on_error", st.Code)
	}
	s.cancelled = true
}

func (o *observer) option(s *transactionState, st *scenario.Step, w answer) {
	if w.code != 0 {
		return
	}
	s.options = append(s.options, st.Option)
	switch st.Option {
	case "read_your_writes_disable":
		s.rywOff = true
	case "snapshot_ryw_disable":
		s.snapshot--
	case "snapshot_ryw_enable":
		s.snapshot++
	case "next_write_no_write_conflict_range":
		s.noConfl = true
	}
}

// size notes after which kinds of steps a transaction's size is recorded.
func (o *observer) size(s *transactionState, w answer) {
	if w.code != 0 {
		return
	}
	for _, op := range sizedOps {
		if s.asks[op] {
			o.prove("size/%s/%s", op, s.view(false))
		}
	}
}

var sizedOps = []string{
	"get", "get_key", "get_range", "set", "clear", "clear_range", "atomic", "add_read_conflict_key",
	"add_read_conflict_range", "add_write_conflict_key", "add_write_conflict_range", "watch",
}

// rest notes versions, stamps and watches.
func (o *observer) rest(s *transactionState, st *scenario.Step, w answer) {
	switch st.Op {
	case "get_read_version":
		if s.first < 0 && w.code == 0 {
			s.first = o.at
		}
	case "set_read_version":
		s.first = o.at
		if st.Base != "" {
			o.prove("version/set from a %s version", st.Base)
		}
	case "get_committed_version":
		o.committedVersion(s, w)
	case "await_versionstamp":
		o.stamped(w)
	case "watch":
		o.watch(s, st, w)
	case "watch_state", "cancel_watch":
		o.watchState(st, w)
	}
}

func (o *observer) committedVersion(s *transactionState, w answer) {
	if w.Version == nil {
		return
	}
	switch {
	case *w.Version > 0:
		o.prove("version/committed, of a transaction that wrote")
	case s.committed && len(s.writes) == 0:
		o.prove("version/committed, of a read-only transaction")
	case !s.committed:
		o.prove("version/committed, before the commit")
	}
}

func (o *observer) stamped(w answer) {
	if w.Versionstamp != nil {
		o.prove("stamp/future/committed")
	}
	if w.code != 0 {
		o.prove("stamp/future/%d", w.code)
	}
}

// stampsUnread notes reads of what awaits its versionstamp.
func (o *observer) stampsUnread(s *transactionState, st *scenario.Step) {
	for i := range s.writes {
		switch s.writes[i].kind {
		case "versionstamped key":
			o.prove("stamp/key/unreadable by %s", st.Op)
		case "versionstamped value":
			o.prove("stamp/value/unreadable by %s", st.Op)
			if string(s.writes[i].keys.Begin) == kv.MetadataVersionKey {
				o.prove("metadata/unreadable after own stamp")
			}
		}
	}
}

// repeatedStamps notes versionstamps of a slot's second commit.
func (o *observer) repeatedStamps(s *scenario.Scenario) {
	for _, p := range s.Final {
		for _, t := range p {
			for _, part := range t {
				if part.Stamp != nil && part.Stamp.N > 0 {
					o.prove("stamp/of a second commit")
				}
			}
		}
	}
}

func (o *observer) metadata(s *transactionState, key []byte) {
	if string(key) == kv.MetadataVersionKey {
		o.prove("metadata/read")
	}
}

// observedWatch is a watch since it was set.
type observedWatch struct {
	key []byte
	tx  *transactionState
}

// watchErrors are the codes with which watches end on their own account.
var watchErrors = []kv.Code{
	kv.CodeNotCommitted, kv.CodeTransactionCancelled, kv.CodeAccessedUnreadable, kv.CodeOperationCancelled,
	kv.CodeWatchesDisabled, kv.CodeUsedDuringCommit, kv.CodeKeyOutsideLegalRange, kv.CodeKeyTooLarge, kv.CodeTooManyWatches,
}

func (o *observer) watch(s *transactionState, st *scenario.Step, w answer) {
	key, ok := plainKey(st.Key)
	switch {
	case w.code != 0 && !slices.Contains(watchErrors, kv.Code(w.code)):
		o.prove("watch/error of an earlier call")
	case w.code != 0:
		o.prove("watch/error %d", w.code)
	case ok:
		if s.first < 0 {
			s.first = o.at
		}
		o.watches[st.ID] = &observedWatch{key, s}
		s.reads = append(s.reads, observedRead{"watch", o.at})
	}
}

// watchState notes what a watch did since it was set, and what was written.
func (o *observer) watchState(st *scenario.Step, w answer) {
	seen := o.watches[st.ID]
	switch {
	case st.Op == "cancel_watch":
		o.prove("watch/cancelled")
		return
	case w.code != 0:
		o.prove("watch/error %d", w.code)
		return
	case seen == nil || w.Fired == nil:
		return
	}
	state := "quiet"
	if *w.Fired {
		state = "fired"
	}
	cause := ""
	for _, c := range o.commits {
		for i := range c.writes {
			if c.step > seen.tx.first && c.writes[i].holds(seen.key) {
				cause = c.writes[i].kind
			}
		}
	}
	if own := seen.tx.last(seen.key); own != nil {
		cause = "own " + own.kind
	}
	if cause == "" {
		cause = "nothing"
	}
	o.prove("watch/%s/%s", state, cause)
}

// limits notes sizes at and beyond the limits.
func (o *observer) limits(s *transactionState, st *scenario.Step, w answer) {
	if st.Op == "commit" && w.code == 0 {
		for i := range s.writes {
			if s.writes[i].kind == "set" && len(s.writes[i].keys.Begin) == kv.MaxKeySize {
				o.prove("limit/key/largest")
			}
		}
	}
	if st.Op == "set" {
		if value, ok := plainKey(st.Value); ok && len(value) == kv.MaxValueSize {
			s.asks["largest value"] = true
		}
	}
	if st.Op == "commit" && w.code == 0 && s.asks["largest value"] {
		o.prove("limit/value/largest")
	}
	if key, ok := plainKey(st.Key); ok && len(key) > kv.MaxKeySize && slices.Contains([]string{"get", "get_key", "clear"}, st.Op) && w.code == 0 {
		o.prove("limit/key/read or cleared beyond the limit")
	}
	if w.code == int(kv.CodeTransactionTooLarge) {
		o.prove("limit/transaction/too large")
	}
}
