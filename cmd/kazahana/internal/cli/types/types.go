// SPDX-License-Identifier: Apache-2.0

// Package types has the commands kazahana type, which show what the headers of stores say
// of the types of their records.
package types

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// Command returns the group kazahana type.
func Command(c *shell.Console) *cobra.Command {
	return shell.Group("type", "Show the types of records, as the database has them", listCommand(c), showCommand(c))
}

func listCommand(c *shell.Console) *cobra.Command {
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
						return storearg.Explain(err)
					}
					if err := c.Write(store{Path: database.FormatPath(at.Path), Type: at.Type}); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func showCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show PATH", Short: "Show the fields and indexes of a type", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show what the header of a store says: fields with their kinds, nested structs, and indexes with
their states. If only the Go code of the type can maintain an index, the reason is shown, and record put
and record rm are refused.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana type show tenants/tenant-1/orders --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return storearg.Read(cmd, args[0], func(_ context.Context, s *dynamic.Store) error {
				return c.Write(newDescription(s))
			})
		},
	}
	storearg.AddType(cmd)
	return cmd
}

// store is a line of type list.
type store struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// Lines implements [shell.Result].
func (s store) Lines() []string { return []string{s.Path + "  " + s.Type} }
