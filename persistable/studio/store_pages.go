// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// storePages show stores and their schemas. The pages of records, changes and indexes open their
// store through them.
type storePages struct {
	db   *persistable.DB
	most int // stores of a listing
}

// storeState is a store in a listing.
type storeState struct {
	Path      []string `json:"path"`
	Type      string   `json:"type"`
	Directory string   `json:"directory"` // of the schema
	Versions  bool     `json:"versions"`
	Indexes   int      `json:"indexes"`
	Unready   int      `json:"unready"` // indexes that are not readable
	Error     string   `json:"error,omitempty"`
}

func newStoreState(at dynamic.Location, s *dynamic.Store, err error) storeState {
	state := storeState{Path: at.Path, Type: at.Type}
	if err != nil {
		state.Error = err.Error()
		return state
	}
	schema := s.Schema()
	state.Directory, state.Versions, state.Indexes = schema.Directory, schema.Versions, len(schema.Indexes)
	for _, x := range schema.Indexes {
		if x.State != index.Readable {
			state.Unready++
		}
	}
	return state
}

// find returns the stores in a directory and below, and whether there are more than it lists.
// The last one stands for directories that cannot be read, if there are any.
func (p *storePages) find(ctx context.Context, path []string) (all []storeState, more bool, err error) {
	all = []storeState{}
	for at, err := range dynamic.Stores(ctx, p.db, path...) {
		if errors.Is(err, directory.ErrCorrupt) { // it comes last
			return append(all, storeState{Path: []string{}, Type: "directories", Error: err.Error()}), false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if len(all) == p.most {
			return all, true, nil
		}
		s, err := dynamic.Open(ctx, p.db, at.Path, at.Type)
		all = append(all, newStoreState(at, s, err))
	}
	return all, false, nil
}

func (p *storePages) list(r *http.Request) (any, error) {
	all, more, err := p.find(r.Context(), pathOf(r))
	return map[string]any{"stores": all, "more": more}, err
}

// open opens the store of a request: its parameters p and type.
func (p *storePages) open(r *http.Request) (*dynamic.Store, error) {
	if len(pathOf(r)) == 0 {
		return nil, invalid("say in which directory the store is: p=…")
	}
	return dynamic.Open(r.Context(), p.db, pathOf(r), r.URL.Query().Get("type"))
}

// indexState is an index as pages show it.
type indexState struct {
	dynamic.Index
	State string `json:"state"`
	Kind  string `json:"kind"`
}

func newIndexStates(s *dynamic.Schema) []indexState {
	all := []indexState{}
	for _, x := range s.Indexes {
		x.Fields, x.Descending, x.Folded, x.CoverFields = list(x.Fields), list(x.Descending), list(x.Folded), list(x.CoverFields)
		all = append(all, indexState{x, x.State.String(), string(x.Kind)})
	}
	return all
}

// newFields returns fields as pages show them.
func newFields(fields []dynamic.Field) []dynamic.Field {
	all := []dynamic.Field{}
	for _, f := range fields {
		f.Was, f.Rules, f.Constants = list(f.Was), list(f.Rules), list(f.Constants)
		all = append(all, f)
	}
	return all
}

func newMessages(messages []dynamic.Message) []dynamic.Message {
	all := []dynamic.Message{}
	for _, m := range messages {
		all = append(all, dynamic.Message{Name: m.Name, Fields: newFields(m.Fields)})
	}
	return all
}

// refers says, for fields that refer to records, where these are.
type refers map[string]reference

type reference struct {
	Path []string `json:"path"`
	Type string   `json:"type"`
}

// newRefers returns the references of a store at a path.
func newRefers(c *dynamic.Schema, path []string) refers {
	all := refers{}
	for _, f := range c.Fields {
		for _, rule := range f.Rules {
			literal, isRef := strings.CutPrefix(rule, "ref=")
			to, err := strconv.Unquote(literal)
			if !isRef || err != nil {
				continue
			}
			elements := strings.Split(to, "/")
			last := len(elements) - 1
			if filled := fillPath(elements[:last], strings.Split(c.Directory, "/"), path); filled != nil {
				all[f.Name] = reference{filled, elements[last]}
			}
		}
	}
	return all
}

// fieldElement is an element of a directory that is the value of a field, perhaps with its layer.
var fieldElement = regexp.MustCompile(`^\{[^}]*\}`)

// fillPath returns the path of a directory of which each {Field} is also an element of the directory own, at a path.
func fillPath(elements, own, path []string) (filled []string) {
	for _, e := range elements {
		if name := fieldElement.FindString(e); name != "" {
			at := slices.IndexFunc(own, func(other string) bool { return strings.HasPrefix(other, name) })
			if at < 0 || at >= len(path) {
				return nil
			}
			e = path[at]
		}
		filled = append(filled, e)
	}
	return filled
}

// schemaView is a schema as pages show it.
type schemaView struct {
	Type      string
	Origin    string
	Directory string
	ID        string // the kind of the ids
	MadeIDs   bool
	Scatter   int
	Versions  bool
	Fields    []dynamic.Field
	Messages  []dynamic.Message
	Text      string
	Path      []string     `json:"path"`
	Refers    refers       `json:"refers"`
	Indexes   []indexState `json:"indexes"`
	Refusal   string       `json:"refusal,omitempty"` // why nothing may be written
}

func newSchemaView(s *dynamic.Store) schemaView {
	c := s.Schema()
	v := schemaView{
		c.Type, c.Origin, c.Directory, c.ID, c.MadeIDs, c.Scatter, c.Versions, newFields(c.Fields), newMessages(c.Messages), c.Text, s.Path(), newRefers(c, s.Path()), newIndexStates(c), "",
	}
	if c.Refusal != nil {
		v.Refusal = c.Refusal.Error()
	}
	return v
}

func (p *storePages) schema(r *http.Request) (any, error) {
	s, err := p.open(r)
	if err != nil {
		return nil, err
	}
	return newSchemaView(s), nil
}

// schemaText returns what a version of a header said: its schema, and a line for each index.
func schemaText(v persistable.SchemaVersion) string {
	text := strings.TrimRight(v.Schema, "\n")
	for _, x := range v.Indexes {
		text += fmt.Sprintf("\n\tindex %s %s: %v", x.KeyName, x.Layout, x.State)
	}
	return text
}

func (p *storePages) history(r *http.Request) (any, error) {
	s, err := p.open(r)
	if err != nil {
		return nil, err
	}
	versions, err := s.Indexes().History(r.Context())
	type version struct {
		Until  any    `json:"until"` // null: the present one
		Schema string `json:"schema"`
	}
	all := []version{}
	for _, v := range versions {
		one := version{Schema: schemaText(v)}
		if !v.Until.IsZero() {
			one.Until = v.Until
		}
		all = append(all, one)
	}
	return map[string]any{"versions": all}, err
}
