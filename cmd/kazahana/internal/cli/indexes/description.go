// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// description is what is known of an index.
type description struct {
	Path       string   `json:"path"`
	Type       string   `json:"type"`
	Name       string   `json:"name"`
	KeyName    string   `json:"keyName"`
	State      string   `json:"state"`
	Kind       string   `json:"kind"` // index, unique, count, sum, rank or version
	Fields     []string `json:"fields,omitempty"`
	Descending []string `json:"descending,omitempty"`
	Of         string   `json:"of,omitempty"`
	Copies     []string `json:"copies,omitempty"` // fields; "*" for the record
	Where      string   `json:"where,omitempty"`
	Scatter    int      `json:"scatter,omitempty"`
	Layout     string   `json:"layout"`
	size
	Progress string `json:"progress,omitempty"` // of the build of the store
	Foreign  string `json:"needsGoCode,omitempty"`
}

func newDescription(at dynamic.Location, ix dynamic.Index) description {
	d := description{
		Path: database.FormatPath(at.Path), Type: at.Type, Name: ix.Name, KeyName: ix.KeyName, State: ix.State.String(), Kind: kindOf(ix),
		Fields: ix.Fields, Descending: ix.Descending, Of: ix.Of, Copies: ix.CoverFields, Where: ix.Where, Scatter: ix.Scatter,
		Layout: ix.Layout, Foreign: ix.Foreign,
	}
	if ix.Cover {
		d.Copies = []string{"*"}
	}
	return d
}

// kindOf names the kind of an index as the verbs do.
func kindOf(ix dynamic.Index) string {
	if ix.Unique {
		return "unique"
	}
	if ix.Kind == index.Value {
		return "index"
	}
	return string(ix.Kind)
}

// keeps says what the index keeps: its fields in the order of its keys, and its options.
func (d description) keeps() string {
	var fields []string
	for _, f := range d.Fields {
		if slices.Contains(d.Descending, f) {
			f += " desc"
		}
		fields = append(fields, f)
	}
	text := strings.Join(fields, ", ")
	add := func(set bool, format string, args ...any) {
		if set {
			text = strings.TrimSpace(text + " " + fmt.Sprintf(format, args...))
		}
	}
	add(d.Of != "", "of %s", d.Of)
	add(d.Where != "", "where %s", d.Where)
	add(len(d.Copies) > 0, "with copies of %s", strings.Replace(strings.Join(d.Copies, ", "), "*", "the record", 1))
	add(d.Scatter > 0, "over %d shards", d.Scatter)
	return text
}

// Lines implements [shell.Result].
func (d description) Lines() []string {
	pairs := []any{"index", fmt.Sprintf("%s of %s in %s", shell.Word(d.KeyName), d.Type, d.Path), "state", d.State, "kind", d.Kind}
	for _, line := range []struct{ name, text string }{
		{"keeps", cmp.Or(d.keeps(), "all records")}, {"size", d.size.String()}, {"layout", d.Layout}, {"build", d.Progress}, {"needs code", d.Foreign},
	} {
		if line.text != "" {
			pairs = append(pairs, line.name, line.text)
		}
	}
	return append(shell.Fields(pairs...), "")
}
