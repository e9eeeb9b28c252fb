// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// entry is a key of a record, decoded.
type entry struct {
	Index      string `json:"index,omitempty"` // empty: the record's own
	Key        string `json:"key"`             // hexadecimal
	Tuple      string `json:"tuple"`           // of the key behind the directory's prefix
	Value      string `json:"value"`           // hexadecimal, cut
	ValueBytes int    `json:"valueBytes"`
	Kind       string `json:"kind,omitempty"`    // of the index
	Missing    bool   `json:"missing,omitempty"` // the database has no such key
}

const shownOfValue = 200 // bytes

// record returns a record with its entries. With full=1 its whole JSON, too.
func (h *Handler) record(r *http.Request) (any, error) {
	s, err := h.openStore(r)
	if err != nil {
		return nil, err
	}
	id, err := s.ParseID(r.URL.Query().Get("id"))
	if err != nil {
		return nil, invalid("%w", err)
	}
	record, err := s.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	one, err := newRow(record, shownInRecord)
	if err != nil {
		return nil, err
	}
	text, err := record.MarshalJSON()
	if err != nil {
		return nil, err
	}
	entries, err := s.Entries(r.Context(), id)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"row": one, "etag": etagOf(text), "bytes": len(text), "entries": newEntries(entries), "schema": newSchemaView(s)}
	if r.URL.Query().Get("full") == "1" {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, text, "", "  "); err != nil {
			return nil, err
		}
		answer["text"] = pretty.String()
	}
	return answer, nil
}

// etagOf names the state of a record.
func etagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func newEntries(entries []dynamic.Entry) []entry {
	all := []entry{}
	for _, e := range entries {
		one := entry{Index: e.Index, Key: hex.EncodeToString(e.Key), Tuple: e.Tuple.String(), ValueBytes: len(e.Value), Kind: kindName(e.Kind), Missing: e.Value == nil}
		one.Value = hex.EncodeToString(e.Value[:min(len(e.Value), shownOfValue)])
		all = append(all, one)
	}
	return all
}

// recordRequest is a request that changes a record.
type recordRequest struct {
	Path   []string `json:"path"`
	Type   string   `json:"type"`
	ID     string   `json:"id"`
	Etag   string   `json:"etag"`             // of the state that the page showed
	Record string   `json:"record,omitempty"` // the JSON of the new state
}

// saveRecord saves a record unless it has changed since the page read it.
func (h *Handler) saveRecord(r *http.Request) (any, error) {
	return h.changeRecord(r, func(s *dynamic.Store, was *dynamic.Record, text string) error {
		next, err := s.ParseRecord([]byte(text))
		if err != nil {
			return invalid("%w", err)
		}
		if next.ID() != was.ID() {
			return invalid("the id of the record is %s: it cannot be changed to %s", was.ID(), next.ID())
		}
		return s.SaveIfUnchanged(r.Context(), was, next)
	})
}

// deleteRecord deletes a record unless it has changed since the page read it.
func (h *Handler) deleteRecord(r *http.Request) (any, error) {
	return h.changeRecord(r, func(s *dynamic.Store, was *dynamic.Record, _ string) error {
		return s.DeleteIfUnchanged(r.Context(), was)
	})
}

// errChanged says what to do about a record that changed meanwhile.
var errChanged = &statusError{http.StatusPreconditionFailed, persistable.ErrChanged}

// changeRecord calls do with the record, if it is as the page showed it. do compares again, in
// its transaction, where it recognizes its own work after a lost acknowledgement.
func (h *Handler) changeRecord(r *http.Request, do func(s *dynamic.Store, was *dynamic.Record, text string) error) (any, error) {
	var q recordRequest
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	s, err := dynamic.Open(r.Context(), h.db, q.Path, q.Type)
	if err != nil {
		return nil, err
	}
	id, err := s.ParseID(q.ID)
	if err != nil {
		return nil, invalid("%w", err)
	}
	was, err := s.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	text, err := was.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if etagOf(text) != q.Etag {
		return nil, errChanged
	}
	return map[string]any{}, do(s, was, q.Record)
}
