// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

const aboutFolders = `
The folder is that of an embedded database that no program has open. The command tells which
process has it open, and changes nothing then.`

const aboutReading = aboutFolders + ` verify, get and log write nothing to it in any case.`

// Command returns kazahana db.
func Command(c *shell.Console) *cobra.Command {
	g := shell.Group("db", "Check, back up, restore and show embedded databases",
		verifyCommand(c), backupCommand(c), restoreCommand(c), getCommand(c), logCommand(c))
	g.Long = "Check, back up, restore and show the folders of embedded databases.\n" + aboutReading
	return g
}

// The exit codes of these commands, besides those that all commands share.
const (
	ExitNoKey   = 4 // the key of db get does not exist
	ExitDamaged = 5 // a database is not as it was written
)

// openForReading opens the database of a folder. It writes nothing.
func openForReading(folder string) (*embedded.Database, error) {
	db, err := embedded.OpenWith(folder, embedded.Options{ReadOnly: true})
	return db, explainMissing(folder, err)
}

// explainMissing adds advice to the error of a folder without a database.
func explainMissing(folder string, err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("there is no database in the folder %s: is it the one that the program opens? (%w)", shell.Word(folder), err)
	}
	return err
}

// isForeign reports whether a folder has no file of a database, so that its error is not about
// damage.
func isForeign(folder string) bool {
	for _, name := range []string{"IDENTITY", "CLOSED", "BACKUP", "UNFINISHED", "base"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); !errors.Is(err, iofs.ErrNotExist) {
			return false
		}
	}
	segments, err := filepath.Glob(filepath.Join(folder, "*.log"))
	return err == nil && len(segments) == 0
}
