// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

func removeCommand(c *shell.Console) *cobra.Command {
	var w whereFlags
	cmd := &cobra.Command{
		Use: "rm PATH (ID... | --where CONDITION)", Short: "Remove records", Args: shell.Arguments(cobra.MinimumNArgs(1)),
		Long: `Remove the records with the given ids, or those that fulfil a condition, with their entries in all
indexes. The command shows how many there are and the first of them, and asks, or needs --yes. It removes
the records that it has counted, by their ids, in transactions of up to a thousand: others that fulfil the
condition by then stay, and those that were changed meanwhile are removed. It refuses another directory
that was put at the path by then. If it stops on the way, the error says how many are gone.
` + aboutWhere + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana record rm tenants/tenant-1/orders 72623859790382856 --db data\n  kazahana record rm events --where 'Tenant = \"tenant-9\"' --yes --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) > 1) == (w.where != "") {
				return shell.Misuse(cmd, errors.New("give ids, or a condition by --where"))
			}
			if err := w.check(cmd); err != nil {
				return err
			}
			if w.where != "" {
				return removeWhere(cmd, c, args[0], &w)
			}
			return removeIDs(cmd, c, args[0], args[1:])
		},
	}
	storearg.AddType(cmd)
	shell.AddYes(cmd)
	w.add(cmd)
	return cmd
}

// mostNamed is how many ids a question names.
const mostNamed = 10

// removeWhere removes the records at a path that fulfil a condition.
func removeWhere(cmd *cobra.Command, c *shell.Console, path string, w *whereFlags) error {
	var (
		shown *dynamic.Store
		ids   []dynamic.ID
	)
	err := storearg.Read(cmd, path, func(ctx context.Context, s *dynamic.Store) (err error) {
		shown = s
		if ids, err = w.find(ctx, c, s); err != nil || len(ids) == 0 {
			return err
		}
		return confirm(cmd, c, s, ids)
	})
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return c.Write(count{"removed", 0})
	}
	return storearg.WriteShown(cmd, shown, func(ctx context.Context, s *dynamic.Store) error { return remove(ctx, c, s, ids) })
}

// removeIDs removes the records at a path with these ids, all of which must exist.
func removeIDs(cmd *cobra.Command, c *shell.Console, path string, texts []string) error {
	var (
		shown *dynamic.Store
		ids   []dynamic.ID
	)
	err := storearg.Read(cmd, path, func(ctx context.Context, s *dynamic.Store) (err error) {
		shown = s
		if ids, err = findIDs(ctx, s, texts); err != nil {
			return err
		}
		return confirm(cmd, c, s, ids)
	})
	if err != nil {
		return err
	}
	return storearg.WriteShown(cmd, shown, func(ctx context.Context, s *dynamic.Store) error { return remove(ctx, c, s, ids) })
}

// remove removes the records with these ids.
func remove(ctx context.Context, c *shell.Console, s *dynamic.Store, ids []dynamic.ID) error {
	progress := c.StartProgress("records", int64(len(ids)), shell.Things)
	n := 0
	err := persistable.DeleteMany(ctx, &s.Store, ids, persistable.BatchOptions{Progress: func(p persistable.BatchProgress) {
		n = p.Done
		progress.Set(int64(n))
	}})
	progress.Finish()
	if err != nil {
		return stopped(n, "removed", err)
	}
	return c.Write(count{"removed", len(ids)})
}

// findIDs returns each of the ids once. There must be records with all of them.
func findIDs(ctx context.Context, s *dynamic.Store, texts []string) (ids []dynamic.ID, err error) {
	for _, text := range texts {
		id, err := s.ParseID(text)
		if err != nil {
			return nil, shell.Invalid(err)
		}
		if slices.Contains(ids, id) {
			continue
		}
		found, err := s.Exists(ctx, id)
		if err == nil && !found {
			err = fmt.Errorf("%w: %s %s", persistable.ErrNotFound, s.Schema().Type, id)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// confirm shows what will be removed, and asks.
func confirm(cmd *cobra.Command, c *shell.Console, s *dynamic.Store, ids []dynamic.ID) error {
	n := len(ids)
	lines := []string{fmt.Sprintf("%s of %s in %s, with all entries in indexes (%d):", plural(n), s.Schema().Type, database.QuotePath(s.Path()), len(s.Schema().Indexes))}
	for _, id := range ids[:min(n, mostNamed)] {
		lines = append(lines, "  "+id.String())
	}
	if more := n - len(lines) + 1; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return c.Confirm(cmd, lines, "Remove "+plural(n)+"?")
}
