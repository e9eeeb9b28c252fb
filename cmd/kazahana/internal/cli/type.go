// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// typeCommand returns the group kazahana type.
func typeCommand(c *shell.Console) *cobra.Command {
	return shell.Group("type", "Show the types of records, as the database has them", listTypesCommand(c), showTypeCommand(c))
}

func listTypesCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "list [PATH]", Short: "List the stores in a directory and below it", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `List the stores in a directory and all directories below it, in the whole database without a path:
one line each, with the path of the directory and the type of the records.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana type list --db data\n  kazahana type list tenants/tenant-1 --db data --json",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := database.ParsePath(cmd, append(args, "")[0])
			if err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				for at, err := range dynamic.Stores(ctx, db, path...) {
					if err != nil {
						return database.ExplainStore(err)
					}
					if err := c.Write(typeStore{Path: database.FormatPath(at.Path), Type: at.Type}); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func showTypeCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show PATH", Short: "Show the fields and indexes of a type", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show what the header of a store says: fields with their kinds, nested structs, and indexes with
their states. If only the Go code of the type can maintain an index, the reason is shown, and record put
and record rm are refused.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana type show tenants/tenant-1/orders --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return database.ReadStore(cmd, args[0], func(_ context.Context, s *dynamic.Store) error {
				return c.Write(newTypeDescription(s))
			})
		},
	}
	database.AddTypeFlag(cmd)
	return cmd
}

// typeStore is a line of type list.
type typeStore struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// Lines implements [shell.Result].
func (s typeStore) Lines() []string { return []string{s.Path + "  " + s.Type} }

// typeDescription is what type show shows.
type typeDescription struct {
	Path      string        `json:"path"`
	Type      string        `json:"type"`
	Origin    string        `json:"origin"`
	Directory string        `json:"directory"`
	ID        string        `json:"id"`
	Scatter   int           `json:"scatter,omitempty"`
	Versions  bool          `json:"versions"`
	Refusal   string        `json:"readOnly,omitempty"` // why nothing may be written
	Fields    []typeField   `json:"fields"`
	Messages  []typeMessage `json:"messages,omitempty"`
	Indexes   []typeIndex   `json:"indexes"`
}

type typeField struct {
	Number  int32    `json:"number"`
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Default string   `json:"default,omitempty"`
	Was     []string `json:"was,omitempty"`

	Rules     []string       `json:"rules,omitempty"` // created, updated, or such as min=1, with a Go literal
	Constants []typeConstant `json:"constants,omitempty"`
}

type typeConstant struct {
	Name  string `json:"name"`
	Value string `json:"value"` // a Go literal
}

type typeMessage struct {
	Name   string      `json:"name"`
	Fields []typeField `json:"fields"`
}

type typeIndex struct {
	Name    string `json:"name"` // in keys
	State   string `json:"state"`
	Layout  string `json:"layout"`
	Foreign string `json:"needsGoCode,omitempty"` // why
}

func newTypeDescription(s *dynamic.Store) typeDescription {
	from := s.Schema()
	d := typeDescription{
		Path: database.FormatPath(s.Path()), Type: from.Type, Origin: from.Origin, Directory: from.Directory, ID: from.ID, Scatter: from.Scatter,
		Versions: from.Versions, Fields: newFields(from.Fields), Indexes: []typeIndex{},
	}
	if from.Refusal != nil {
		d.Refusal = from.Refusal.Error()
	}
	for _, m := range from.Messages {
		d.Messages = append(d.Messages, typeMessage{m.Name, newFields(m.Fields)})
	}
	for _, ix := range from.Indexes {
		d.Indexes = append(d.Indexes, typeIndex{ix.KeyName, ix.State.String(), ix.Layout, ix.Foreign})
	}
	return d
}

func newFields(from []dynamic.Field) (all []typeField) {
	for _, f := range from {
		one := typeField{Number: f.Number, Name: f.Name, Kind: f.Kind, Default: f.Default, Was: f.Was, Rules: f.Rules}
		for _, c := range f.Constants {
			one.Constants = append(one.Constants, typeConstant(c))
		}
		all = append(all, one)
	}
	return all
}

// Lines implements [shell.Result].
func (d typeDescription) Lines() []string {
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

func fieldLines(fields []typeField) []string {
	var pairs []any
	for _, f := range fields {
		kind := f.Kind
		if f.Default != "" {
			kind += " default " + f.Default
		}
		if len(f.Was) > 0 {
			kind += " was " + strings.Join(f.Was, " ")
		}
		if len(f.Rules) > 0 {
			kind += " " + strings.Join(f.Rules, " ")
		}
		if len(f.Constants) > 0 {
			kind += ": " + constantText(f.Constants)
		}
		pairs = append(pairs, fmt.Sprintf("  %d  %s", f.Number, f.Name), kind)
	}
	return shell.Fields(pairs...)
}

// constantText lists named values.
func constantText(all []typeConstant) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Name+" = "+c.Value)
	}
	return strings.Join(texts, ", ")
}
