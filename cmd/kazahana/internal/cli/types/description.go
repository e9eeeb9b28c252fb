// SPDX-License-Identifier: Apache-2.0

package types

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// description is what type show shows.
type description struct {
	Path      string    `json:"path"`
	Type      string    `json:"type"`
	Origin    string    `json:"origin"`
	Directory string    `json:"directory"`
	ID        string    `json:"id"`
	Scatter   int       `json:"scatter,omitempty"`
	Versions  bool      `json:"versions"`
	Refusal   string    `json:"readOnly,omitempty"` // why nothing may be written
	Fields    []field   `json:"fields"`
	Messages  []message `json:"messages,omitempty"`
	Indexes   []index   `json:"indexes"`
}

type field struct {
	Number  int32    `json:"number"`
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Default string   `json:"default,omitempty"`
	Was     []string `json:"was,omitempty"`
}

type message struct {
	Name   string  `json:"name"`
	Fields []field `json:"fields"`
}

type index struct {
	Name    string `json:"name"` // in keys
	State   string `json:"state"`
	Layout  string `json:"layout"`
	Foreign string `json:"needsGoCode,omitempty"` // why
}

func newDescription(s *dynamic.Store) description {
	from := s.Schema()
	d := description{
		Path: database.FormatPath(s.Path()), Type: from.Type, Origin: from.Origin, Directory: from.Directory, ID: from.ID, Scatter: from.Scatter,
		Versions: from.Versions, Fields: newFields(from.Fields), Indexes: []index{},
	}
	if from.Refusal != nil {
		d.Refusal = from.Refusal.Error()
	}
	for _, m := range from.Messages {
		d.Messages = append(d.Messages, message{m.Name, newFields(m.Fields)})
	}
	for _, ix := range from.Indexes {
		d.Indexes = append(d.Indexes, index{ix.KeyName, ix.State.String(), ix.Layout, ix.Foreign})
	}
	return d
}

func newFields(from []dynamic.Field) (all []field) {
	for _, f := range from {
		all = append(all, field{f.Number, f.Name, f.Kind, f.Default, f.Was})
	}
	return all
}

// Lines implements [shell.Result].
func (d description) Lines() []string {
	pairs := []any{"type", d.Type, "path", d.Path, "origin", d.Origin, "directory", d.Directory, "id", d.ID}
	if d.Scatter > 0 {
		pairs = append(pairs, "scatter", d.Scatter)
	}
	if d.Versions {
		pairs = append(pairs, "versions", "yes: there is a change feed")
	}
	if d.Refusal != "" {
		pairs = append(pairs, "read-only", d.Refusal)
	}
	lines := append(shell.Fields(pairs...), "", "fields")
	lines = append(lines, fieldLines(d.Fields)...)
	for _, m := range d.Messages {
		lines = append(append(lines, "", "struct "+m.Name), fieldLines(m.Fields)...)
	}
	lines = append(lines, "", "indexes")
	for _, ix := range d.Indexes {
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", ix.Name, ix.State, ix.Layout))
		if ix.Foreign != "" {
			lines = append(lines, "    needs the Go code of the type: "+ix.Foreign)
		}
	}
	return lines
}

func fieldLines(fields []field) []string {
	var pairs []any
	for _, f := range fields {
		kind := f.Kind
		if f.Default != "" {
			kind += " default " + f.Default
		}
		if len(f.Was) > 0 {
			kind += " was " + strings.Join(f.Was, " ")
		}
		pairs = append(pairs, fmt.Sprintf("  %d  %s", f.Number, f.Name), kind)
	}
	return shell.Fields(pairs...)
}
