// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

type query = persistable.Query[*dynamic.Record]

func listCommand(c *shell.Console) *cobra.Command {
	var f pageFlags
	var index string
	var values []string
	cmd := &cobra.Command{
		Use: "list PATH", Short: "Show the records of a directory, page by page", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the records of a directory in the order of their ids or, with --index, in that of an index:
those that have the given values in its first fields. If there are more than --limit, the token of
the next page is written to the standard error output, with --json as {"next": "…"}; --token goes on
there.
` + aboutJSON + database.AboutPaths + "\n" + database.About,
		Example: "  kazahana record list tenants/tenant-1/orders --limit 10 --json --db data\n" +
			"  kazahana record list tenants/tenant-1/orders --index Order_Status_CreatedAt --value 1 --reverse --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if index == "" && len(values) > 0 {
				return shell.Misuse(cmd, errors.New("--value needs --index"))
			}
			return f.run(cmd, c, args[0], func(s *dynamic.Store) (*query, error) {
				if index == "" {
					return s.Scan(), nil
				}
				q, err := s.ByIndex(index, values...)
				if err != nil {
					return nil, shell.Invalid(err)
				}
				return q, nil
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&index, "index", "", "in the order of the index with this `name`")
	cmd.Flags().StringArrayVar(&values, "value", nil, "only with this `value` in the next field of the index; may be repeated")
	return cmd
}

func findCommand(c *shell.Console) *cobra.Command {
	var f pageFlags
	var w whereFlags
	cmd := &cobra.Command{
		Use: "find PATH --where CONDITION", Short: "Show the records that fulfil a condition", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the records of a directory that fulfil a condition. Indexes serve it where they can; where none
does, all records are read. If there are more than --limit, the token of the next page is written to
the standard error output, with --json as {"next": "…"}; --token goes on there.
` + aboutWhere + aboutJSON + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana record find tenants/tenant-1/orders --where 'Status = 1 and CreatedAt >= 2026-01-01T00:00:00Z' --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			}
			return f.run(cmd, c, args[0], w.query)
		},
	}
	f.add(cmd)
	w.add(cmd)
	_ = cmd.MarkFlagRequired("where") // the flag is there
	return cmd
}

// pageFlags are the flags of verbs that show pages of records.
type pageFlags struct {
	limit   int
	token   string
	reverse bool
}

func (f *pageFlags) add(cmd *cobra.Command) {
	storearg.AddType(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 100, "`number` of records to show at most; 0: all")
	shell.AddToken(cmd, &f.token)
	cmd.Flags().BoolVar(&f.reverse, "reverse", false, "in the other direction")
}

// run shows the records of a query of the store at a path.
func (f *pageFlags) run(cmd *cobra.Command, c *shell.Console, path string, newQuery func(*dynamic.Store) (*query, error)) error {
	if f.limit < 0 || f.limit == 0 && f.token != "" {
		return shell.Misuse(cmd, errors.New("--limit: it must not be negative, nor 0 together with --token"))
	}
	return storearg.Read(cmd, path, func(ctx context.Context, s *dynamic.Store) error {
		q, err := newQuery(s)
		if err != nil {
			return err
		}
		if f.reverse {
			q = q.Reverse()
		}
		if f.limit == 0 {
			return explainLimit(writeAll(ctx, c, q))
		}
		return explainLimit(f.writePage(ctx, c, q.Limit(f.limit)))
	})
}

func writeAll(ctx context.Context, c *shell.Console, q *query) error {
	for r, err := range q.All(ctx) {
		if err != nil {
			return err
		}
		if err := c.Write(row{r}); err != nil {
			return err
		}
	}
	return nil
}

// writePage shows a page, and the token of the next one.
func (f *pageFlags) writePage(ctx context.Context, c *shell.Console, q *query) error {
	page, err := q.Page(ctx, f.token)
	if err != nil {
		return err
	}
	for _, r := range page.Records {
		if err := c.Write(row{r}); err != nil {
			return err
		}
	}
	if page.Next == "" {
		return nil
	}
	return c.WriteNext(page.Next)
}
