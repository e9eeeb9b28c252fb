// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
)

// batch is how many IDs are made at a time.
const batch = 1024

func (c *command) idNew() *cobra.Command {
	var (
		count  int
		layout layoutFlags
	)
	cmd := &cobra.Command{
		Use: "new", Short: "Make IDs", Args: arguments(cobra.NoArgs),
		Long: `Make IDs and write them, ascending, one a line.

They are fallback IDs: without a lease their machine and sequence are random, and two
processes that make some in the same millisecond can make the same. --json takes them apart.`,
		Example: "  kazahana id new\n  kazahana id new -n 3 | kazahana id encode",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 1 {
				return misuse(cmd, errors.New("--count must be at least 1"))
			}
			l, err := layout.layout(cmd)
			if err != nil {
				return err
			}
			return c.makeIDs(cmd.Context(), l, count)
		},
	}
	cmd.Flags().IntVarP(&count, "count", "n", 1, "how many")
	layout.add(cmd.Flags())
	return cmd
}

// newID is an ID that was made. As text it is the number alone.
type newID struct{ breakdown }

func (n newID) text() string { return n.ID.String() }

func (c *command) makeIDs(ctx context.Context, l idgen.Layout, count int) error {
	client, err := idgen.NewClient(idgen.Options{Layout: l})
	if err != nil {
		return err
	}
	ids := make([]idgen.ID, min(count, batch))
	for count > 0 {
		ids = ids[:min(count, len(ids))]
		if _, err := client.NextN(ctx, ids); err != nil {
			return err
		}
		for _, id := range ids {
			if err := c.write(newID{breakDown(l, id)}); err != nil {
				return err
			}
		}
		count -= len(ids)
	}
	return nil
}
