// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

func dropCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "drop PATH INDEX", Short: "Remove an index, with its entries", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Remove an index from a store: its entries, and its place in the store's header, which ends its maintenance
by all programs. Records stay as they are. A program that has the index in its code finds it as one that
was never built, and refuses queries on it; "index build" by that program builds it again.
` + aboutStores,
		Example:           "  kazahana index drop tenants/tenant-1/orders Order_Editor --db data",
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return over(cmd, args[0], true, func(ctx context.Context, db *persistable.DB, t *target) error {
				return drop(ctx, cmd, c, db, t, args[1])
			})
		},
	}
	shell.AddYes(cmd)
	return cmd
}

func drop(ctx context.Context, cmd *cobra.Command, c *shell.Console, db *persistable.DB, t *target, name string) error {
	ix, err := t.find(name)
	if err != nil {
		return err
	}
	s, err := measure(ctx, db, t.path, ix.KeyName)
	if err != nil {
		return err
	}
	lines := []string{fmt.Sprintf("%s of %s, %s: %v", ix.Name, t.where(), ix.State, s)}
	if err := c.Confirm(cmd, lines, "Remove it?"); err != nil {
		return err
	}
	if err := t.Drop(ctx, ix.Name); err != nil {
		return err
	}
	return c.Write(dropResult{database.FormatPath(t.path), t.schema.Type, ix.Name, s})
}

// dropResult says what was removed.
type dropResult struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Name string `json:"removed"`
	size
}

// Lines implements [shell.Result].
func (r dropResult) Lines() []string {
	return []string{fmt.Sprintf("removed %s of %s in %s: %v", r.Name, r.Type, r.Path, r.size)}
}
