// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

func violationsCommand(c *shell.Console) *cobra.Command {
	var token string
	cmd := &cobra.Command{
		Use: "violations PATH INDEX", Short: "List the records that keep a unique index from being completed", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `List the records that share the values of a unique index, a page of at least fifty at a time. The token
of the next page is written to the standard error output, with --json as {"next": "…"}; --token goes on
there. The command checks each of the records, and removes those from the list that share no values any
more, so it writes. The exit code is 5 if there are any.
` + aboutStores,
		Example:           "  kazahana index violations counters Counter_Name_unique --db data",
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return over(cmd, args[0], true, func(ctx context.Context, _ *persistable.DB, t *target) error {
				return listViolations(ctx, c, t, args[1], token)
			})
		},
	}
	shell.AddToken(cmd, &token)
	return cmd
}

func listViolations(ctx context.Context, c *shell.Console, t *target, name, token string) error {
	ix, err := t.find(name)
	if err != nil {
		return err
	}
	if !ix.Unique {
		return shell.Invalid(fmt.Errorf("the index %s of %s is not unique", ix.KeyName, t.where()))
	}
	page, err := t.Indexes().Violations(ctx, ix.KeyName, token)
	if err != nil {
		return storearg.Explain(err)
	}
	for _, v := range page.Violations {
		if err := c.Write(newViolation(t.schema, v)); err != nil {
			return err
		}
	}
	if page.Next != "" {
		if err := c.WriteNext(page.Next); err != nil {
			return err
		}
	}
	if len(page.Violations) == 0 {
		return nil
	}
	return &shell.ExitError{Code: ExitFaults, Err: fmt.Errorf("%d records of %s keep %s from being completed: change or remove them, and build again", len(page.Violations), t.where(), ix.KeyName)}
}
