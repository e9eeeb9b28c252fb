// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func exportCommand(c *shell.Console) *cobra.Command {
	var lock bool
	cmd := &cobra.Command{
		Use: "export PATH [FILE]", Short: "Write a tenant to a file or the output", Args: shell.Arguments(cobra.RangeArgs(1, 2)),
		Long: `Write a tenant, in one state, to a file that does not exist, or without a file, or with -, to the
output. kazahana tenant import reads it into any database, embedded or cluster, under any name. The file
appears when it is complete.

A locked tenant is read under its lock, which stays. One that is not locked is read at one version, which
is possible for five seconds: enough for some ten megabytes. With --lock, programs cannot write to it
during the export; the database is then opened for writing. What they write afterwards is not in the file: to
move a tenant, first lock it by kazahana tenant lock.
` + aboutTenants,
		Example:           "  kazahana tenant export tenants/tenant-1 tenant-1.export --lock --db data\n  kazahana tenant export tenants/tenant-1 --db data | zstd > tenant-1.zst",
		ValidArgsFunction: completePathThenFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseTenantAddress(cmd, args[0])
			if err != nil {
				return err
			}
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			if file == "-" && c.WritesTerminal() {
				return shell.Misuse(cmd, errors.New("the export is not text for a terminal: name a file, or redirect the output"))
			}
			return database.Open(cmd, lock, func(ctx context.Context, db *persistable.DB) error {
				return at.explain(ctx, db, exportTenant(ctx, c, db, at, file, lock))
			})
		},
	}
	addLock(cmd, &lock)
	return cmd
}

// completePathThenFile completes a path, and then a file.
func completePathThenFile(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return database.CompletePath(cmd, args, word)
}

func exportTenant(ctx context.Context, c *shell.Console, db *persistable.DB, at tenantAddress, file string, lock bool) error {
	exists, err := at.of(db).Exists(ctx, at.name)
	if err == nil && !exists {
		err = tenants.ErrNotFound
	}
	if err != nil {
		return err
	}
	var p tenants.Progress
	write := func(w io.Writer) error {
		return at.whileLocked(ctx, db, lock, "kazahana tenant export", func(l tenants.Lock) (err error) {
			show := startProgress(ctx, c, db, at, "exporting "+at.String())
			defer show.Finish()
			p, err = at.of(db).Export(ctx, at.name, w, tenants.ExportOptions{Lock: l, Progress: func(p tenants.Progress) { show.Set(p.Bytes) }})
			return err
		})
	}
	if file == "-" {
		return write(c.Raw())
	}
	if err := writeFile(file, write, shell.SyncFolder); err != nil {
		return err
	}
	return c.Write(changeResult{"exported", at.text(), file, p.Pairs, p.Bytes})
}

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
		ValidArgsFunction: completePathThenFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, size, err := openExport(cmd, c, args[1])
			if err != nil {
				return err
			}
			err = changeLock(cmd, args[0], func(ctx context.Context, db *persistable.DB, at tenantAddress) error {
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

func verifyExportCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "verify PATH FILE", Short: "Compare a tenant with an export", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Compare a tenant with a file that kazahana tenant export has written, or with - with the input: its
directories, its types, and each key with its value. The tenant may have another name, and be in another
database, than when it was exported. The exit code is 1 if they differ. A tenant that is not locked is
read at one version, which is possible for five seconds.
` + aboutTenants,
		Example:           "  kazahana tenant verify tenants/tenant-1 tenant-1.export --cluster-file fdb.cluster",
		ValidArgsFunction: completePathThenFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseTenantAddress(cmd, args[0])
			if err != nil {
				return err
			}
			r, size, err := openExport(cmd, c, args[1])
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

// openExport opens a file, or the input, and returns its size; 0 if that is unknown.
func openExport(cmd *cobra.Command, c *shell.Console, file string) (io.ReadCloser, int64, error) {
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
	if errors.Is(err, tenants.ErrStream) || errors.Is(err, tenants.ErrAhead) {
		return shell.Invalid(err)
	}
	return err
}

// writeFile makes a file that appears when it is complete, and is on the disk when writeFile
// returns. It replaces no file, not even one that another process makes while it runs: each call
// writes to a temporary file of its own.
func writeFile(name string, write func(io.Writer) error, syncFolder func(string) error) error {
	if _, err := os.Lstat(name); err == nil {
		return existsError(name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.partial")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = publish(f.Name(), name)
	}
	if err = errors.Join(err, removeIfThere(f.Name())); err != nil {
		return err
	}
	if err = syncFolder(filepath.Dir(name)); err != nil {
		return errors.Join(fmt.Errorf("write the folder of %s to the disk: %w", shell.Argument(name), err), removeIfThere(name))
	}
	return nil
}

// publish gives a complete file its name. A rename would replace a file of that name, so
// a hard link is made; where the file system has none, the file is renamed if there is no
// other one.
func publish(partial, name string) error {
	err := os.Link(partial, name)
	if err == nil {
		return nil
	}
	if _, missing := os.Lstat(name); errors.Is(err, fs.ErrExist) || missing == nil {
		return existsError(name)
	}
	return os.Rename(partial, name)
}

func existsError(name string) error {
	return fmt.Errorf("the file %s exists: remove it, or name another one", shell.Argument(name))
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
