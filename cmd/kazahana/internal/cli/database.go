// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

const aboutFolders = `
The folder is that of an embedded database that is not open in any program. If a process has it open, the
command names that process and changes nothing.`

const aboutReading = aboutFolders + ` It writes nothing to it in any case.`

// databaseCommands returns kazahana verify, backup, restore, move and log.
func databaseCommands(c *shell.Console) []*cobra.Command {
	return []*cobra.Command{verifyDatabaseCommand(c), backupCommand(c), restoreCommand(c), moveDatabaseCommand(c), databaseLogCommand(c)}
}

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
			return c.Write(copyResult{*newBackupOrigin(&info), args[0], "backed up to"})
		},
	}
}

// backUp opens the database and copies it. It changes nothing in a folder without a database,
// because opening for reading makes none, nor if the target is refused. show is told how many
// bytes were read.
func backUp(ctx context.Context, folder, target string, show func(read int64)) (info embedded.BackupInfo, err error) {
	if err := checkEmpty(target); err != nil {
		return info, err
	}
	reader, err := database.OpenFolder(folder)
	if err != nil {
		return info, explainOpen(err)
	}
	if err := reader.Close(); err != nil {
		return info, err
	}
	db, err := embedded.Open(absolute(folder), embedded.Options{FS: newMeter(show)})
	if err != nil {
		return info, explainOpen(err)
	}
	info, err = db.Backup(ctx, absolute(target))
	return info, errors.Join(err, db.Close())
}

// checkEmpty refuses a target that is there, and is not an empty folder.
func checkEmpty(target string) error {
	if names, err := os.ReadDir(target); len(names) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("the target %s is not an empty folder: name one that does not exist", shell.Word(target)), err)
	}
	return nil
}

// explainOpen adds to the error of a database in use how to back it up.
func explainOpen(err error) error {
	if locked := (*embedded.LockedError)(nil); errors.As(err, &locked) {
		return fmt.Errorf("%w, or let the program that has it open make the backup", err)
	}
	return err
}

func restoreCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "restore BACKUP", Short: "Copy a backup to a new folder, and check the copy", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Copy a backup to the folder of --db, which must not exist or be empty, and check the copy as verify
does. The folder appears complete or not at all. It shares nothing with the backup, which may lie on
a read-only disk.

It is a database of its own, with another identity. If programs lease IDs from it, see
kazahana lease quarantine: the backup does not know the leases that were granted after it. If it has
virtual actors, see kazahana placement forget-members: it lists the members of the original.`,
		Example: "  kazahana restore /backups/2026-11-22 --db data-restored",
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := database.Folder(cmd)
			if err != nil {
				return err
			}
			info, err := restore(cmd.Context(), c, args[0], folder)
			if err != nil {
				return explainRestore(args[0], err)
			}
			return c.Write(copyResult{*newBackupOrigin(&info), folder, "restored to"})
		},
	}
}

// explainRestore adds advice to the error of a restore from a folder without a backup.
func explainRestore(backup string, err error) error {
	if _, missing := os.Stat(backup); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: name the folder of the backup (%w)", shell.Word(backup), err)
	}
	return database.ExplainMissing(backup, err)
}

// restore copies a backup, with a progress of the bytes that are read: those of the backup,
// and those of the copy, which is checked.
func restore(ctx context.Context, c *shell.Console, backup, folder string) (embedded.BackupInfo, error) {
	bar := c.StartProgress("restoring", 2*folderSize(backup), shell.Bytes)
	defer bar.Finish()
	return embedded.Restore(ctx, absolute(backup), absolute(folder), embedded.Options{FS: newMeter(bar.Set)})
}

// backupOrigin is the database and the version of which a backup is a copy.
type backupOrigin struct {
	Database string    `json:"database"` // its identity
	Version  int64     `json:"version"`
	Time     time.Time `json:"time"`
}

// newBackupOrigin returns the origin of a backup; nil for a folder that is not one.
func newBackupOrigin(info *embedded.BackupInfo) *backupOrigin {
	if info == nil {
		return nil
	}
	return &backupOrigin{info.Database, info.Version, info.Time}
}

// String implements [fmt.Stringer].
func (o *backupOrigin) String() string {
	return fmt.Sprintf("database %s at version %d, made %s", shell.Word(o.Database), o.Version, shell.Stamp(o.Time))
}

// copyResult is a folder that a command has made.
type copyResult struct {
	backupOrigin
	Folder string `json:"folder"`
	done   string // the action of the command, in words
}

// Lines implements [shell.Result].
func (r copyResult) Lines() []string {
	return []string{fmt.Sprintf("%s %s: %s", r.done, shell.Word(r.Folder), &r.backupOrigin)}
}

func verifyDatabaseCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Read all of an embedded database or backup, and check it", Args: shell.Arguments(cobra.NoArgs),
		Long: `Read all of a database or backup, and check it: the checksum and the order of every record of
the log, the checksum of every block of every table, and the order of keys.

Damage is listed with file, offset and reason, and the exit code is 5. What is damaged cannot be
mended: keep the folder as it is, and restore a backup into another one. A torn end of the log, which
a crash leaves, is not damage.
` + aboutReading,
		Example: "  kazahana verify --db data\n  kazahana verify --db /backups/2026-11-22 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := database.Folder(cmd)
			if err != nil {
				return err
			}
			r, err := verifyFolder(cmd.Context(), c, folder)
			switch {
			case len(r.Damage) == 0 && err != nil:
				return database.ExplainMissing(folder, err)
			case database.IsForeign(folder):
				return database.ExplainMissing(folder, fs.ErrNotExist)
			}
			return errors.Join(c.Write(newVerifyReport(folder, r)), damageError(folder, r))
		},
	}
}

// verifyFolder checks a folder, with a progress of the bytes that are read.
func verifyFolder(ctx context.Context, c *shell.Console, folder string) (*embedded.Report, error) {
	bar := c.StartProgress("checking", folderSize(folder), shell.Bytes)
	defer bar.Finish()
	return embedded.Verify(ctx, absolute(folder), embedded.Options{FS: newMeter(bar.Set)})
}

// absolute returns the whole path of a folder, as errors show it; the name as it is if it is
// empty, or the working directory is gone.
func absolute(folder string) string {
	abs, err := filepath.Abs(folder)
	if folder == "" || err != nil {
		return folder
	}
	return abs
}

// damageError returns an error with the number of damaged places; nil if there is none. The
// report lists them.
func damageError(folder string, r *embedded.Report) error {
	if len(r.Damage) == 0 {
		return nil
	}
	return &shell.ExitError{Code: exitDamaged, Err: fmt.Errorf(
		"the database in the folder %s is damaged in %d places: keep the folder as it is, look for the disk's fault, and restore a backup into another folder",
		shell.Word(folder), len(r.Damage))}
}

// verifyReport is the result of the check of a folder.
type verifyReport struct {
	Folder  string        `json:"folder"`
	Version int64         `json:"version"` // of the newest commit
	Backup  *backupOrigin `json:"backup,omitempty"`
	Files   int           `json:"files"`
	Bytes   int64         `json:"bytes"`
	Entries int64         `json:"entries"`   // of the base's tables: keys, older values, deletions
	Writes  int64         `json:"writes"`    // of the log, that the base does not have yet
	Torn    int64         `json:"tornBytes"` // after the end of the log
	Damage  []fileDamage  `json:"damage"`    // none: []
	Whole   bool          `json:"whole"`     // nothing is damaged
}

// fileDamage is a place that has changed since it was written.
type fileDamage struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

func newVerifyReport(folder string, r *embedded.Report) verifyReport {
	found := verifyReport{
		Folder: folder, Version: r.Version, Backup: newBackupOrigin(r.Backup), Files: r.Files, Bytes: r.Bytes, Entries: r.Keys, Writes: r.Writes, Torn: r.Torn,
		Damage: make([]fileDamage, len(r.Damage)), Whole: len(r.Damage) == 0,
	}
	for i, d := range r.Damage {
		found.Damage[i] = fileDamage{d.File, d.Offset, d.Reason}
	}
	return found
}

// Lines implements [shell.Result].
func (r verifyReport) Lines() []string {
	state := "whole"
	if !r.Whole {
		state = fmt.Sprintf("damaged in %d places", len(r.Damage))
	}
	pairs := []any{"folder", shell.Word(r.Folder), "state", state, "version", r.Version}
	if r.Backup != nil {
		pairs = append(pairs, "backup of", r.Backup)
	}
	pairs = append(pairs, "read", fmt.Sprintf("%d files, %d bytes: %d entries in tables, %d later writes in the log", r.Files, r.Bytes, r.Entries, r.Writes))
	if r.Torn > 0 {
		pairs = append(pairs, "torn", fmt.Sprintf("%d bytes after the end of the log, which a crash has left: no damage", r.Torn))
	}
	for _, d := range r.Damage {
		pairs = append(pairs, "damage", fmt.Sprintf("%s at offset %d: %s", shell.Word(d.File), d.Offset, d.Reason))
	}
	return shell.Fields(pairs...)
}

// meter is the operating system's files. It counts the bytes that are read of them, for
// the progress of a verb that reads all of a database.
type meter struct {
	vfs.FS
	count *meterCount
}

// meterCount is how many bytes were read.
type meterCount struct {
	mu   sync.Mutex
	read int64
	show func(read int64) // called by one goroutine at a time
}

func newMeter(show func(read int64)) meter { return meter{vfs.Default, &meterCount{show: show}} }

// Open implements [vfs.FS].
func (m meter) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := m.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	return meteredFile{f, m.count}, nil
}

// Unwrap implements [vfs.FS].
func (m meter) Unwrap() vfs.FS { return m.FS }

func (c *meterCount) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read += int64(n)
	c.show(c.read)
}

// meteredFile counts the reads of a file.
type meteredFile struct {
	vfs.File
	count *meterCount
}

// Read implements [vfs.File].
func (f meteredFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.count.add(n)
	return n, err
}

// ReadAt implements [vfs.File].
func (f meteredFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.count.add(n)
	return n, err
}

// folderSize returns the size of all files in a folder; 0 if it cannot be read, for the
// error of that comes from the verb itself.
func folderSize(folder string) (size int64) {
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return 0
	}
	return size
}

func databaseLogCommand(c *shell.Console) *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use: "log", Short: "List what the commit log of an embedded database holds", Args: shell.Arguments(cobra.NoArgs),
		Long: `List what the commit log holds, a line for each version: how many keys and ranges were written, with
how many bytes, and the first key. The log holds the commits that the base does not have on the disk: the
newest ones of a process that was killed, and none after a clean end. A damaged log is listed up to the damage, and the exit code is 5.
` + aboutReading,
		Example: "  kazahana log --db data\n  kazahana log --db data --from 123456789 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := database.Folder(cmd)
			if err == nil {
				err = shell.AtLeast(cmd, "from", from, 0)
			}
			if err != nil {
				return err
			}
			err = embedded.ReadLog(cmd.Context(), folder, embedded.Options{}, func(e embedded.LogEntry) error {
				if e.Version < from {
					return nil
				}
				return c.Write(newLogLine(e))
			})
			return database.ExplainMissing(folder, err)
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "leave out what is below this `version`")
	return cmd
}

// logLine is a version in the listing.
type logLine struct {
	Version       int64  `json:"version"`
	Writes        int    `json:"writes"`
	Bytes         int64  `json:"bytes"`
	FirstKey      string `json:"firstKey"` // text with escapes
	FirstKeyHex   string `json:"firstKeyHex"`
	FirstKeyTuple string `json:"firstKeyTuple,omitempty"`
}

func newLogLine(e embedded.LogEntry) logLine {
	return logLine{e.Version, e.Writes, e.Bytes, database.FormatKey(e.FirstKey), hex.EncodeToString(e.FirstKey), database.FormatTuple(e.FirstKey)}
}

// Lines implements [shell.Result].
func (l logLine) Lines() []string {
	line := fmt.Sprintf("%-16d %6d writes %9d bytes  %s", l.Version, l.Writes, l.Bytes, l.FirstKey)
	if l.FirstKeyTuple != "" {
		line += "  " + l.FirstKeyTuple
	}
	return []string{line}
}
