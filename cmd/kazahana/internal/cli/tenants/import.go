// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func importCommand(c *shell.Console) *cobra.Command {
	var lock bool
	cmd := &cobra.Command{
		Use: "import PATH FILE", Short: "Make a tenant of an export", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Make a tenant of a file that kazahana tenant export has written, or with - of the input. The path may be
another one than that of the export, and must not exist. The tenant appears when all was read and
checked. If the command is interrupted, repeat it with the same file, which goes on, or remove the rest
by kazahana tenant abandon. With --lock the tenant is locked when it appears, until kazahana tenant
unlock; repeated with the same file, the command then finds it and does nothing.
` + aboutTenants,
		Example:           "  kazahana tenant import tenants/tenant-1 tenant-1.export --db data\n  zstd -dc tenant-1.zst | kazahana tenant import tenants/trial - --db data",
		ValidArgsFunction: completeFileBehind,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, size, err := openInput(cmd, c, args[1])
			if err != nil {
				return err
			}
			err = change(cmd, args[0], func(ctx context.Context, db *persistable.DB, at address) error {
				show := c.StartProgress("importing "+at.String(), size, shell.Bytes)
				defer show.Finish()
				o := tenants.ImportOptions{Progress: func(p tenants.Progress) { show.Set(p.Offset) }}
				if lock {
					o.LockReason = "kazahana tenant import"
				}
				p, err := at.of(db).Import(ctx, at.name, r, o)
				if err != nil {
					return explainStream(err)
				}
				show.Finish()
				return c.Write(changeResult{"imported", args[1], at.text(), p.Pairs, p.Bytes})
			})
			return errors.Join(err, r.Close())
		},
	}
	cmd.Flags().BoolVar(&lock, "lock", false, "keep programs from writing to the tenant until it is unlocked")
	return cmd
}

func verifyCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "verify PATH FILE", Short: "Compare a tenant with an export", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Compare a tenant with a file that kazahana tenant export has written, or with - with the input: its
directories, its types, and each key with its value. The tenant may have another name, and be in another
database, than when it was exported. The exit code is 1 if they differ. A tenant that is not locked is
read at one version, which is possible for five seconds.
` + aboutTenants,
		Example:           "  kazahana tenant verify tenants/tenant-1 tenant-1.export --cluster-file fdb.cluster",
		ValidArgsFunction: completeFileBehind,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseAddress(cmd, args[0])
			if err != nil {
				return err
			}
			r, size, err := openInput(cmd, c, args[1])
			if err != nil {
				return err
			}
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				return at.explain(ctx, db, at.whileLocked(ctx, db, false, "", func(l tenants.Lock) error {
					show := c.StartProgress("comparing "+at.String(), size, shell.Bytes)
					defer show.Finish()
					p, err := at.of(db).Verify(ctx, at.name, r, tenants.VerifyOptions{Lock: l, Progress: func(p tenants.Progress) { show.Set(p.Offset) }})
					if err != nil {
						return explainStream(err)
					}
					show.Finish()
					return c.Write(changeResult{"compared", args[1], at.text(), p.Pairs, p.Bytes})
				}))
			})
			return errors.Join(err, r.Close())
		},
	}
}

// openInput opens a file, or the input, and returns its size; 0 if that is unknown.
func openInput(cmd *cobra.Command, c *shell.Console, file string) (io.ReadCloser, int64, error) {
	if file == "-" {
		if c.ReadsTerminal() {
			return nil, 0, shell.Misuse(cmd, errors.New("an export cannot be typed: name a file, or redirect the input"))
		}
		return io.NopCloser(c.In), 0, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// explainStream makes the fault of a stream one of input.
func explainStream(err error) error {
	if errors.As(err, new(*tenants.StreamError)) || errors.As(err, new(*tenants.VersionError)) {
		return shell.Invalid(err)
	}
	return err
}
