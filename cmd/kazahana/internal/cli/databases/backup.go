// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func backupCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "backup TARGET", Short: "Copy an embedded database to a new folder", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Copy a database, as its newest commit left it, to a target folder, which must not exist or be
empty. The target appears complete or not at all.

On the same file system the copy shares its files with the database by hard links. Copy it to
another disk, too, and verify that copy: links do not survive the loss of the disk.

The command opens the database as a program does, and closes it. To back up a database that a
program has open, call Backup in that program.
` + aboutFolders,
		Example: "  kazahana backup /backups/2026-11-22 --db data\n  kazahana verify --db /backups/2026-11-22",
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := database.Folder(cmd)
			if err != nil {
				return err
			}
			bar := c.StartProgress("backing up", 0, shell.Bytes)
			info, err := backUp(cmd.Context(), folder, args[0], bar.Set)
			bar.Finish()
			if err != nil {
				return err
			}
			return c.Write(copyResult{*newOrigin(&info), args[0], "backed up to"})
		},
	}
}

// backUp opens the database and copies it. It changes nothing in a folder without a database,
// because opening for reading makes none, nor if the target is refused. show is told how many
// bytes were read.
func backUp(ctx context.Context, folder, target string, show func(read int64)) (info embedded.BackupInfo, err error) {
	if names, err := os.ReadDir(target); len(names) > 0 || err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return info, errors.Join(fmt.Errorf("the target %s is not an empty folder: name one that does not exist", shell.Word(target)), err)
	}
	reader, err := database.OpenFolder(folder)
	if err != nil {
		return info, explainOpen(err)
	}
	if err := reader.Close(); err != nil {
		return info, err
	}
	db, err := embedded.OpenWith(absolute(folder), embedded.Options{FS: newMeter(show)})
	if err != nil {
		return info, explainOpen(err)
	}
	info, err = db.Backup(ctx, absolute(target))
	return info, errors.Join(err, db.Close())
}

// explainOpen adds to the error of a database in use how to back it up.
func explainOpen(err error) error {
	if locked := (*embedded.LockedError)(nil); errors.As(err, &locked) {
		return fmt.Errorf("%w, or let the program that has it open make the backup", err)
	}
	return err
}
