// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// recordPages show the records of a store, and change one at a time.
type recordPages struct{ stores *storePages }

// cell is a value of a record, cut for a table.
type cell struct {
	Name  string `json:"name"`
	Text  string `json:"text"`            // the JSON of the value; of a string, the string
	Kind  string `json:"kind"`            // string, number, bool, null, object or list
	Bytes int    `json:"bytes,omitempty"` // of the whole text, if Text is cut
}

// row is a record in a table.
type row struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	Cells   []cell `json:"cells"`
	Deleted bool   `json:"deleted,omitempty"`
}

// The lengths at which values are cut, in bytes.
const (
	shownInTable  = 120
	shownInRecord = 2000
)

// foundPage is a page of the records of a store, with the query that it is of.
type foundPage struct {
	persistable.Page[*dynamic.Record]
	query *persistable.Query[*dynamic.Record]
}

// find reads a page of the records of a store: those that a condition chooses, or in the
// order of an index.
func (p *recordPages) find(r *http.Request) (s *dynamic.Store, found foundPage, err error) {
	s, err = p.stores.open(r)
	if err != nil {
		return nil, found, err
	}
	if r.URL.Query().Get("deleted") == "1" {
		s = s.WithDeleted()
	}
	limit, err := limitOf(r, 500)
	if err != nil {
		return nil, found, err
	}
	query, err := newQuery(s, r.URL.Query())
	if err != nil {
		return nil, found, invalid("%w", err)
	}
	found.query = query.Limit(limit)
	found.Page, err = found.query.Page(r.Context(), r.URL.Query().Get("token"))
	return s, found, err
}

// list returns a page of records.
func (p *recordPages) list(r *http.Request) (any, error) {
	s, found, err := p.find(r)
	if err != nil {
		return nil, err
	}
	rows := []row{}
	for _, record := range found.Records {
		one, err := newRow(s, record, shownInTable)
		if err != nil {
			return nil, err
		}
		rows = append(rows, one)
	}
	answer := map[string]any{"rows": rows, "next": found.Next, "previous": found.Previous, "schema": newSchemaView(s)}
	if x, err := found.query.Explain(r.Context()); err == nil {
		answer["plan"] = x.String()
	}
	return answer, nil
}

// newQuery returns the query that the parameters where, index, value and reverse describe.
func newQuery(s *dynamic.Store, q url.Values) (query *persistable.Query[*dynamic.Record], err error) {
	switch where := q.Get("where"); {
	case where != "":
		var condition persistable.Condition[*dynamic.Record]
		if condition, err = s.Where(where); err == nil {
			query, err = s.AllowScan().Find(condition)
		}
	case q.Get("index") != "":
		query, err = s.ByIndex(q.Get("index"), q["value"]...)
	default:
		query = s.Scan()
	}
	if err == nil && q.Get("reverse") == "1" {
		query = query.Reverse()
	}
	return query, err
}

func newRow(s *dynamic.Store, record *dynamic.Record, most int) (row, error) {
	text, err := record.MarshalJSON()
	if err != nil {
		return row{}, err
	}
	cells, err := newCells(text, most)
	one := row{ID: record.ID().String(), Cells: cells, Deleted: s.IsDeleted(record)}
	if v := record.Version(); !v.IsZero() {
		one.Version = v.String()
	}
	return one, err
}

// newCells returns the members of an object in their order. Numbers keep all digits.
func newCells(object []byte, most int) ([]cell, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	cells := []cell{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		c := newCell(value, most)
		c.Name, _ = name.(string)
		cells = append(cells, c)
	}
	return cells, nil
}

func newCell(value json.RawMessage, most int) cell {
	c := cell{Text: string(value), Kind: "number"}
	switch value[0] {
	case '"':
		c.Kind = "string"
		_ = json.Unmarshal(value, &c.Text) // the decoder has checked it
	case '{':
		c.Kind = "object"
	case '[':
		c.Kind = "list"
	case 't', 'f':
		c.Kind = "bool"
	case 'n':
		c.Kind = "null"
	}
	if most > 0 && len(c.Text) > most {
		c.Bytes = len(c.Text)
		cut := most
		for cut > 0 && !utf8.RuneStart(c.Text[cut]) {
			cut--
		}
		c.Text = c.Text[:cut]
	}
	return c
}

// entry is a key of a record, decoded.
type entry struct {
	Index      string `json:"index,omitempty"` // empty: the record's own
	Key        string `json:"key"`             // hexadecimal
	Tuple      string `json:"tuple"`           // of the key after the directory's prefix
	Value      string `json:"value"`           // hexadecimal, cut
	ValueBytes int    `json:"valueBytes"`
	Kind       string `json:"kind,omitempty"`    // of the index
	Missing    bool   `json:"missing,omitempty"` // the database has no such key
}

const shownOfValue = 200 // bytes

// show returns a record with its entries. With full=1 its whole JSON, too.
func (p *recordPages) show(r *http.Request) (any, error) {
	s, err := p.stores.open(r)
	if err != nil {
		return nil, err
	}
	id, err := s.ParseID(r.URL.Query().Get("id"))
	if err != nil {
		return nil, invalid("%w", err)
	}
	record, err := s.WithDeleted().Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	one, err := newRow(s, record, shownInRecord)
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
		one := entry{Index: e.Index, Key: hex.EncodeToString(e.Key), Tuple: e.Tuple.String(), ValueBytes: len(e.Value), Kind: string(e.Kind), Missing: e.Value == nil}
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

// create stores a new record. The library makes its id, if the type's ids are made by it and the record has none.
func (p *recordPages) create(r *http.Request) (any, error) {
	var q recordRequest
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	s, err := dynamic.Open(r.Context(), p.stores.db, q.Path, q.Type)
	if err != nil {
		return nil, err
	}
	record, err := s.ParseRecord([]byte(q.Record))
	if err != nil {
		return nil, invalid("%w", err)
	}
	if err := s.Create(r.Context(), record); err != nil {
		return nil, err
	}
	return map[string]any{"id": record.ID().String()}, nil
}

// save saves a record unless it has changed since the page read it. It restores a deleted one that stays.
func (p *recordPages) save(r *http.Request) (any, error) {
	return p.change(r, func(s *dynamic.Store, was *dynamic.Record, text string) error {
		next, err := s.ParseRecord([]byte(text))
		if err != nil {
			return invalid("%w", err)
		}
		if next.ID() != was.ID() {
			return invalid("the id of the record is %s: it cannot be changed to %s", was.ID(), next.ID())
		}
		return s.WithDeleted().SaveIfUnchanged(r.Context(), was, next)
	})
}

// delete deletes a record unless it has changed since the page read it: one that is deleted, and stays, for good.
func (p *recordPages) delete(r *http.Request) (any, error) {
	return p.change(r, func(s *dynamic.Store, was *dynamic.Record, _ string) error {
		if s.IsDeleted(was) {
			s = s.WithDeleted()
		}
		return s.DeleteIfUnchanged(r.Context(), was)
	})
}

// errChanged says what to do about a record that has changed since the page showed it.
var errChanged = &statusError{http.StatusPreconditionFailed, persistable.ErrChanged}

// change calls do with the record, if it is as the page showed it. do compares again, in
// its transaction, where it recognizes its own work after a lost acknowledgement.
func (p *recordPages) change(r *http.Request, do func(s *dynamic.Store, was *dynamic.Record, text string) error) (any, error) {
	var q recordRequest
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	s, err := dynamic.Open(r.Context(), p.stores.db, q.Path, q.Type)
	if err != nil {
		return nil, err
	}
	id, err := s.ParseID(q.ID)
	if err != nil {
		return nil, invalid("%w", err)
	}
	was, err := s.WithDeleted().Get(r.Context(), id)
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
