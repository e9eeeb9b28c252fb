// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

func removeCommand(c *shell.Console) *cobra.Command {
	var w whereFlags
	cmd := &cobra.Command{
		Use: "rm PATH (ID... | --where CONDITION)", Short: "Remove records", Args: shell.Arguments(cobra.MinimumNArgs(1)),
		Long: `Remove the records with the given ids, or those that fulfil a condition, with their entries in all
indexes. The command shows how many there are and the first of them, and asks, or needs --yes.
` + aboutWhere + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana record rm tenants/tenant-1/orders 72623859790382856 --db data\n  kazahana record rm events --where 'Tenant = \"tenant-9\"' --yes",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) > 1) == (w.where != "") {
				return shell.Misuse(cmd, errors.New("give ids, or a condition by --where"))
			}
			return storearg.Write(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error {
				if w.where != "" {
					return w.remove(ctx, cmd, c, s)
				}
				return removeIDs(ctx, cmd, c, s, args[1:])
			})
		},
	}
	storearg.AddType(cmd)
	shell.AddYes(cmd)
	w.add(cmd)
	return cmd
}

// mostNamed is how many ids a question names.
const mostNamed = 10

// removeIDs removes the records with these ids, all of which must exist.
func removeIDs(ctx context.Context, cmd *cobra.Command, c *shell.Console, s *dynamic.Store, texts []string) error {
	var ids []dynamic.ID
	for _, text := range texts {
		id, err := s.ParseID(text)
		if err != nil {
			return shell.Invalid(err)
		}
		found, err := s.Exists(ctx, id)
		if err == nil && !found {
			err = fmt.Errorf("%w: %s %s", persistable.ErrNotFound, s.Schema().Type, id)
		}
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := confirm(cmd, c, s, ids, len(ids)); err != nil {
		return err
	}
	for i, id := range ids {
		if err := s.Delete(ctx, id); err != nil {
			return fmt.Errorf("%d records were removed: %w", i, err)
		}
	}
	return c.Write(count{"removed", len(ids)})
}

// confirm shows what will be removed, and asks.
func confirm(cmd *cobra.Command, c *shell.Console, s *dynamic.Store, first []dynamic.ID, n int) error {
	lines := []string{fmt.Sprintf("%d records of %s in %s, with their entries in %d indexes:", n, s.Schema().Type, database.FormatPath(s.Path()), len(s.Schema().Indexes))}
	for _, id := range first[:min(len(first), mostNamed)] {
		lines = append(lines, "  "+id.String())
	}
	if more := n - len(lines) + 1; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return c.Confirm(cmd, lines, fmt.Sprintf("Remove %d records?", n))
}
