// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

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
}

// The lengths at which values are cut, in bytes.
const (
	shownInTable  = 120
	shownInRecord = 2000
)

// records returns a page of the records of a store: those that a condition chooses, or in the
// order of an index.
func (h *Handler) records(r *http.Request) (any, error) {
	s, err := h.openStore(r)
	if err != nil {
		return nil, err
	}
	limit, err := limitOf(r, 500)
	if err != nil {
		return nil, err
	}
	query, err := newQuery(s, r.URL.Query())
	if err != nil {
		return nil, invalid("%w", err)
	}
	page, err := query.Limit(limit).Page(r.Context(), r.URL.Query().Get("token"))
	if err != nil {
		return nil, err
	}
	rows := []row{}
	for _, record := range page.Records {
		one, err := newRow(record, shownInTable)
		if err != nil {
			return nil, err
		}
		rows = append(rows, one)
	}
	answer := map[string]any{"rows": rows, "next": page.Next, "schema": newSchemaView(s)}
	if x, err := query.Explain(r.Context()); err == nil {
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

func newRow(record *dynamic.Record, most int) (row, error) {
	text, err := record.MarshalJSON()
	if err != nil {
		return row{}, err
	}
	cells, err := newCells(text, most)
	one := row{ID: record.ID().String(), Cells: cells}
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
