// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// formats are the forms in which records are exported: what writes them, and the type of the file.
var formats = map[string]struct {
	contentType string
	write       func(w io.Writer, columns []string, records []*dynamic.Record) error
}{
	"csv":   {"text/csv; charset=utf-8; header=present", writeCSV},
	"jsonl": {"application/x-ndjson; charset=utf-8", writeJSONLines},
}

// export answers with the file of the records that the page shows: those of list, with their whole values, in
// the columns that are chosen.
func (p *recordPages) export(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	format, ok := formats[q.Get("format")]
	if !ok {
		return invalid("format: %q is neither csv nor jsonl", q.Get("format"))
	}
	s, page, err := p.find(r)
	if err != nil {
		return err
	}
	columns, err := columnsOf(s, q)
	if err != nil {
		return err
	}
	var file bytes.Buffer // a fault is an answer, not the end of a file
	if err := format.write(&file, columns, page.Records); err != nil {
		return err
	}
	w.Header().Set("Content-Type", format.contentType)
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename*=UTF-8''%s.%s", url.PathEscape(s.Schema().Type), q.Get("format")))
	_, _ = file.WriteTo(w) // the browser has gone
	return nil
}

// columnsOf returns the fields that the parameters column name, in the order of the schema; all if there are none.
func columnsOf(s *dynamic.Store, q url.Values) ([]string, error) {
	var all, chosen []string
	for _, f := range s.Schema().Fields {
		all = append(all, f.Name)
		if slices.Contains(q["column"], f.Name) {
			chosen = append(chosen, f.Name)
		}
	}
	for _, name := range q["column"] {
		if !slices.Contains(all, name) {
			return nil, invalid("column: the type %s has no field %q", s.Schema().Type, name)
		}
	}
	if len(chosen) == 0 {
		return all, nil
	}
	return chosen, nil
}

// wholeCells returns the cells of a record by their names, uncut.
func wholeCells(record *dynamic.Record) (text []byte, cells map[string]cell, err error) {
	if text, err = record.MarshalJSON(); err != nil {
		return nil, nil, err
	}
	all, err := newCells(text, 0)
	cells = map[string]cell{}
	for _, c := range all {
		cells[c.Name] = c
	}
	return text, cells, err
}

func writeCSV(w io.Writer, columns []string, records []*dynamic.Record) error {
	rows := csv.NewWriter(w)
	rows.UseCRLF = true // RFC 4180
	if err := rows.Write(columns); err != nil {
		return err
	}
	for _, record := range records {
		_, cells, err := wholeCells(record)
		if err != nil {
			return err
		}
		line := make([]string, len(columns))
		for i, name := range columns {
			line[i] = plainText(cells[name])
		}
		if err := rows.Write(line); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

// plainText returns the text of a cell for a spreadsheet. A text that it would take for a formula, which may send the
// other cells away, gets an apostrophe before it. Numbers are left: they begin with a minus at most.
func plainText(c cell) string {
	switch {
	case c.Kind == "null":
		return ""
	case c.Kind != "number" && strings.IndexAny(c.Text, "=+-@\t\r\n＝＋－＠") == 0:
		return "'" + c.Text
	}
	return c.Text
}

func writeJSONLines(w io.Writer, columns []string, records []*dynamic.Record) error {
	for _, record := range records {
		text, cells, err := wholeCells(record)
		if err != nil {
			return err
		}
		if len(columns) < len(cells) {
			text = objectOf(columns, cells)
		}
		if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
			return err
		}
	}
	return nil
}

// objectOf returns a JSON object of some cells.
func objectOf(columns []string, cells map[string]cell) []byte {
	object := []byte{'{'}
	for _, name := range columns {
		if len(object) > 1 {
			object = append(object, ',')
		}
		value := []byte(cells[name].Text)
		if cells[name].Kind == "string" {
			value = quoteJSON(cells[name].Text)
		}
		object = append(append(append(object, quoteJSON(name)...), ':'), value...)
	}
	return append(object, '}')
}

// quoteJSON returns a text as JSON. Letters that have a meaning in HTML are left as they are: a file is not a page.
func quoteJSON(text string) []byte {
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can be
	return bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))
}
