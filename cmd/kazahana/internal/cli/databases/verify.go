// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func verifyCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Read all of an embedded database or backup, and check it", Args: shell.Arguments(cobra.NoArgs),
		Long: `Read all of a database or backup, and check it: the checksum and the order of every record of
the log, the checksum of every block of every table, and the order of keys.

Damage is listed with file, offset and reason, and the exit code is 5. What is damaged cannot be
mended: keep the folder as it is, and restore a backup into another one. A torn end of the log, which
a crash leaves, is no damage.
` + aboutReading,
		Example: "  kazahana verify --db data\n  kazahana verify --db /backups/2026-11-22 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := database.Folder(cmd)
			if err != nil {
				return err
			}
			r, err := verify(cmd.Context(), c, folder)
			switch {
			case len(r.Damage) == 0 && err != nil:
				return database.ExplainMissing(folder, err)
			case database.IsForeign(folder):
				return database.ExplainMissing(folder, iofs.ErrNotExist)
			}
			return errors.Join(c.Write(newReport(folder, r)), damageError(folder, r))
		},
	}
}

// verify checks a folder, with a progress of the bytes that are read.
func verify(ctx context.Context, c *shell.Console, folder string) (*embedded.Report, error) {
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
	return &shell.ExitError{Code: ExitDamaged, Err: fmt.Errorf(
		"the database in the folder %s is damaged in %d places: keep the folder as it is, look for the disk's fault, and restore a backup into another folder",
		shell.Word(folder), len(r.Damage))}
}

// report is the result of the check of a folder.
type report struct {
	Folder  string   `json:"folder"`
	Version int64    `json:"version"` // of the newest commit
	Backup  *origin  `json:"backup,omitempty"`
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Entries int64    `json:"entries"`   // of the base's tables: keys, older values, deletions
	Writes  int64    `json:"writes"`    // of the log, that the base does not have yet
	Torn    int64    `json:"tornBytes"` // behind the end of the log
	Damage  []damage `json:"damage"`    // none: []
	Whole   bool     `json:"whole"`     // nothing is damaged
}

// damage is a place that has changed since it was written.
type damage struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

func newReport(folder string, r *embedded.Report) report {
	found := report{
		Folder: folder, Version: r.Version, Backup: newOrigin(r.Backup), Files: r.Files, Bytes: r.Bytes, Entries: r.Keys, Writes: r.Writes, Torn: r.Torn,
		Damage: make([]damage, len(r.Damage)), Whole: len(r.Damage) == 0,
	}
	for i, d := range r.Damage {
		found.Damage[i] = damage{d.File, d.Offset, d.Reason}
	}
	return found
}

// Lines implements [shell.Result].
func (r report) Lines() []string {
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
		pairs = append(pairs, "torn", fmt.Sprintf("%d bytes behind the end of the log, which a crash has left: no damage", r.Torn))
	}
	for _, d := range r.Damage {
		pairs = append(pairs, "damage", fmt.Sprintf("%s at offset %d: %s", shell.Word(d.File), d.Offset, d.Reason))
	}
	return shell.Fields(pairs...)
}
