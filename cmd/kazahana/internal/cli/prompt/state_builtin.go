// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

func (s *state) cdCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cd [PATH]", Short: "Enter a directory; without a path, the root", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long:              "Enter a directory, from which paths without a leading slash begin.",
		Example:           "  cd tenants/tenant-1\n  cd ..",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, "")
			if text == "" {
				text = "/"
			}
			path, err := database.ParsePath(cmd, text)
			if err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				exists, err := db.Layer().Exists(ctx, db.Engine(), path)
				switch {
				case errors.Is(err, directory.ErrPath):
					return shell.Invalid(err)
				case err != nil:
					return err
				case !exists:
					return database.MissingDirectory(ctx, db, path)
				}
				s.session.SetPath(path)
				return nil
			})
		},
	}
}

func (s *state) pwdCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "pwd", Short: "Show the directory from which paths begin", Args: shell.Arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return c.Write(place{"/" + strings.TrimPrefix(database.FormatPath(s.session.Path()), "/")})
		},
	}
}

// place is the working directory.
type place struct {
	Path string `json:"path"`
}

// Lines implements [shell.Result].
func (p place) Lines() []string { return []string{p.Path} }

func (s *state) exitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "exit", Aliases: []string{"quit"}, Short: "End the shell", Args: shell.Arguments(cobra.NoArgs),
		Run: func(*cobra.Command, []string) { s.ended = true },
	}
}
