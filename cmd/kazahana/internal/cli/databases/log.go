// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func logCommand(c *shell.Console) *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use: "log", Short: "List what the commit log of an embedded database holds", Args: shell.Arguments(cobra.NoArgs),
		Long: `List what the commit log holds, a line for each version: how many keys and ranges were written, with
how many bytes, and the first key. The log holds the newest commits; those that the base has on the
disk leave it. A damaged log is listed up to the damage, and the exit code is 5.
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
	return logLine{e.Version, e.Writes, e.Bytes, keytext.Format(e.FirstKey), hex.EncodeToString(e.FirstKey), keytext.Tuple(e.FirstKey)}
}

// Lines implements [shell.Result].
func (l logLine) Lines() []string {
	line := fmt.Sprintf("%-16d %6d writes %9d bytes  %s", l.Version, l.Writes, l.Bytes, l.FirstKey)
	if l.FirstKeyTuple != "" {
		line += "  " + l.FirstKeyTuple
	}
	return []string{line}
}
