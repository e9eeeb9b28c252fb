// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
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
			var (
				store *target
				shown dropResult
			)
			err := over(cmd, args[0], false, func(ctx context.Context, db *persistable.DB, t *target) (err error) {
				store = t
				if shown, err = examineDrop(ctx, db, t, args[1]); err != nil {
					return err
				}
				return c.Confirm(cmd, []string{shown.question}, "Remove it?")
			})
			if err != nil {
				return err
			}
			return overShown(cmd, store, func(ctx context.Context, t *target) error {
				if err := t.Drop(ctx, shown.Name); err != nil {
					return err
				}
				return c.Write(shown)
			})
		},
	}
	shell.AddYes(cmd)
	return cmd
}

// examineDrop returns what the removal of an index removes.
func examineDrop(ctx context.Context, db *persistable.DB, t *target, name string) (r dropResult, err error) {
	ix, err := t.find(name)
	if err != nil {
		return r, err
	}
	s, err := measure(ctx, db, t.path, ix.KeyName)
	question := fmt.Sprintf("%s of %s, %s: %v", ix.KeyName, t.where(), ix.State, s)
	return dropResult{database.FormatPath(t.path), t.schema.Type, ix.KeyName, s, question}, err
}

// dropResult says what was removed.
type dropResult struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Name string `json:"removed"` // in keys
	size

	question string // what the verb shows before it removes the index
}

// Lines implements [shell.Result].
func (r dropResult) Lines() []string {
	return []string{fmt.Sprintf("removed %s of %s in %s: %v", r.Name, r.Type, r.Path, r.size)}
}
