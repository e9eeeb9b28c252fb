// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

func getCommand(c *shell.Console) *cobra.Command {
	var entries bool
	cmd := &cobra.Command{
		Use: "get PATH ID...", Short: "Show records by their ids", Args: shell.Arguments(cobra.MinimumNArgs(2)),
		Long: `Show the records of a directory with the given ids. With --entries show instead all keys that each
has: its own, and its entries in the indexes, as tuples within the directory. A key that is missing
is marked so. A record that does not exist gives the exit code 4.
` + aboutJSON + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana record get tenants/tenant-1/orders 72623859790382856 --db data\n  kazahana record get events 019ca8a0-3ee7-0000-0000-000000000067 --entries --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return storearg.Read(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error {
				for _, text := range args[1:] {
					if err := show(ctx, c, s, text, entries); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	storearg.AddType(cmd)
	cmd.Flags().BoolVar(&entries, "entries", false, "show the keys of the records")
	return cmd
}

// show writes the record with an id, or its keys.
func show(ctx context.Context, c *shell.Console, s *dynamic.Store, text string, entries bool) error {
	id, err := s.ParseID(text)
	if err != nil {
		return shell.Invalid(err)
	}
	if !entries {
		r, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		return c.Write(row{r})
	}
	all, err := s.Entries(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := c.Write(newEntry(e)); err != nil {
			return err
		}
	}
	return nil
}

// entry is a key of a record.
type entry struct {
	Index   string `json:"index,omitempty"` // "" for the record's own
	Tuple   string `json:"tuple"`
	Key     string `json:"keyHex"`
	Value   string `json:"valueHex"`
	Missing bool   `json:"missing,omitempty"`
}

func newEntry(e dynamic.Entry) entry {
	one := entry{Index: e.Index, Key: hex.EncodeToString(e.Key), Value: hex.EncodeToString(e.Value), Missing: e.Value == nil}
	if e.Tuple != nil {
		one.Tuple = e.Tuple.String()
	}
	return one
}

// Lines implements [shell.Result].
func (e entry) Lines() []string {
	what := fmt.Sprintf("%d bytes", len(e.Value)/2)
	if e.Missing {
		what = "MISSING"
	}
	return []string{e.Tuple + "  " + what}
}
