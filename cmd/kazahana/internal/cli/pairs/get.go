// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

func getCommand(c *shell.Console) *cobra.Command {
	var dir string
	o := showOptions{withDir: true}
	cmd := &cobra.Command{
		Use: "get KEY", Short: "Show the value of a key", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the value of a key as text with escapes, and as a tuple where it is one; --json also has the bytes
in hexadecimal. A key that does not exist gives the exit code 4.
` + aboutKeys,
		Example: "  kazahana kv get '(\"R\", \"Order\", 42)' --dir tenants/tenant-1/orders --db data\n  kazahana kv get 0x15150252 --db data --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := keytext.Parse(args[0])
			if err != nil {
				return shell.Invalid(err)
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				p, err := openPlace(ctx, cmd, db, dir)
				if err != nil {
					return err
				}
				found, err := getPair(ctx, db.Engine(), append(p.prefix[:len(p.prefix):len(p.prefix)], own...))
				if err != nil {
					return err
				}
				shown, err := p.show(ctx, found, o)
				if err != nil {
					return err
				}
				return c.Write(shown)
			})
		},
	}
	addDir(cmd, &dir)
	cmd.Flags().BoolVar(&o.raw, "raw", false, "show the whole key, with the prefix of its directory, and its bytes")
	return cmd
}

func getPair(ctx context.Context, db kv.Database, key []byte) (kv.KeyValue, error) {
	var value []byte
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		value, err = tx.Get(key).Get(ctx)
		return err
	})
	if err == nil && value == nil {
		err = database.Missing(fmt.Errorf("there is no such key: %s", keytext.Format(key)))
	}
	return kv.KeyValue{Key: key, Value: value}, err
}
