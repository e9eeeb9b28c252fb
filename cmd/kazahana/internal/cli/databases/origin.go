// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// origin is the database and the version of which a backup is a copy.
type origin struct {
	Database string    `json:"database"` // its identity
	Version  int64     `json:"version"`
	Time     time.Time `json:"time"`
}

// newOrigin returns the origin of a backup; nil for a folder that is not one.
func newOrigin(info *embedded.BackupInfo) *origin {
	if info == nil {
		return nil
	}
	return &origin{info.Database, info.Version, info.Time}
}

// String implements [fmt.Stringer].
func (o *origin) String() string {
	return fmt.Sprintf("database %s at version %d, made %s", shell.Word(o.Database), o.Version, shell.Stamp(o.Time))
}

// copyResult is a folder that a command has made.
type copyResult struct {
	origin
	Folder string `json:"folder"`
	done   string // the action of the command, in words
}

// Lines implements [shell.Result].
func (r copyResult) Lines() []string {
	return []string{fmt.Sprintf("%s %s: %s", r.done, shell.Word(r.Folder), &r.origin)}
}
