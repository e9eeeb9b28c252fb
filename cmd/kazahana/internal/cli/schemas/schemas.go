// SPDX-License-Identifier: Apache-2.0

// Package schemas has the commands kazahana schema, which show the schema in the header of
// a store, compare it, and tell its history.
package schemas

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// Command returns the group kazahana schema.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("schema", "Show, compare and trace the schemas of stores", showCommand(c), historyCommand(c), diffCommand(c))
}

func showCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show PATH", Short: "Show the schema of a store", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the schema in the header of a store as text: the sum of all programs that wrote there, in the
form of persist.lock. The command type show is for people.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana schema show tenants/tenant-1/orders --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return storearg.Read(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error {
				all, err := s.Indexes().History(ctx)
				if err != nil {
					return err
				}
				return c.Write(newVersion(len(all), all[len(all)-1]))
			})
		},
	}
	storearg.AddType(cmd)
	return cmd
}

func historyCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "history PATH", Short: "Show all versions of the schema of a store", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show what the header of a store has said of schema and indexes, the first version first. The time is
until when a version held, by the clock of the process that replaced it.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana schema history tenants/tenant-1/accounts --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return storearg.Read(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error {
				all, err := s.Indexes().History(ctx)
				if err != nil {
					return err
				}
				for i, v := range all {
					if err := c.Write(newVersion(i+1, v)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	storearg.AddType(cmd)
	return cmd
}

// version is a version of a schema.
type version struct {
	Number  int     `json:"version"`
	Until   string  `json:"until,omitempty"` // "" for the present one
	Schema  string  `json:"schema"`
	Indexes []index `json:"indexes"`
}

type index struct {
	Name   string `json:"name"`
	Layout string `json:"layout"`
	State  string `json:"state"`
}

func newVersion(number int, from persistable.SchemaVersion) version {
	v := version{Number: number, Schema: from.Schema, Indexes: []index{}}
	if !from.Until.IsZero() {
		v.Until = shell.Stamp(from.Until)
	}
	for _, ix := range from.Indexes {
		v.Indexes = append(v.Indexes, index{ix.KeyName, ix.Layout, ix.State.String()})
	}
	return v
}

// Lines implements [shell.Result].
func (v version) Lines() []string {
	until := "the present one"
	if v.Until != "" {
		until = "until " + v.Until
	}
	lines := []string{fmt.Sprintf("# version %d, %s", v.Number, until)}
	for line := range strings.Lines(v.Schema) {
		lines = append(lines, strings.Replace(strings.TrimRight(line, "\n"), "\t", "  ", 1))
	}
	for _, ix := range v.Indexes {
		lines = append(lines, fmt.Sprintf("# index %s %s, %s", ix.Name, ix.Layout, ix.State))
	}
	return lines
}
