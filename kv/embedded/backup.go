// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/gate"
)

// backupName is the file of a backup that says what it is of. It stays when the
// backup is opened or restored: a database never holds less than it says.
const backupName = "BACKUP"

// BackupInfo says what a backup is of.
type BackupInfo struct {
	Database string    // the identity of the database, in its file IDENTITY
	Version  int64     // the backup holds exactly what was committed up to it
	Time     time.Time // when it was made
}

func (i BackupInfo) note() note {
	return note{kind: "backup", fields: [][2]string{
		{"database", i.Database},
		{"version", strconv.FormatInt(i.Version, 10)},
		{"time", i.Time.Format(time.RFC3339Nano)},
	}}
}

// readBackup returns what the folder is a backup of, nil if it is none.
func readBackup(fs vfs.FS, dir string) (*BackupInfo, error) {
	name := fs.PathJoin(dir, backupName)
	n, err := readNote(fs, name, "backup")
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info := &BackupInfo{Database: n.field("database")}
	info.Version, err = strconv.ParseInt(n.field("version"), 10, 64)
	if err == nil {
		info.Time, err = time.Parse(time.RFC3339Nano, n.field("time"))
	}
	if err != nil {
		return nil, &fault.CorruptError{File: name, Reason: err.Error()}
	}
	return info, nil
}

// reaches returns an error if a database that ends at version lacks some of the
// backup that it was made from.
func (i *BackupInfo) reaches(fs vfs.FS, dir string, version int64) error {
	if i == nil || version >= i.Version {
		return nil
	}
	return &fault.CorruptError{
		File:   fs.PathJoin(dir, backupName),
		Reason: fmt.Sprintf("the backup was made at version %d, and the folder holds what was committed up to %d: files are gone", i.Version, version),
	}
}

// copies lets one backup at a time go on, and ends them when the database is
// closed.
type copies struct {
	turn   chan struct{} // holds one element while no copy goes on
	gate   *gate.Gate
	closed context.Context
	end    context.CancelCauseFunc
}

func newCopies() *copies {
	c := &copies{turn: make(chan struct{}, 1), gate: gate.New()}
	c.closed, c.end = context.WithCancelCause(context.Background())
	c.turn <- struct{}{}
	return c
}

// begin waits for its turn. The context it returns ends with the given one, and
// when the database is closed; end must be called.
func (c *copies) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	if !c.gate.Enter() {
		return nil, nil, kv.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(c.closed, func() { cancel(kv.ErrClosed) })
	leave := func() { unlink(); cancel(nil); c.gate.Leave() }
	select {
	case <-c.turn:
		return ctx, func() { c.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		err := context.Cause(ctx)
		leave()
		return nil, nil, err
	}
}

// stop ends the copies and waits for them.
func (c *copies) stop() {
	c.end(kv.ErrClosed)
	c.gate.Shut()
}
