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
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
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
	gate   *base.Gate
	closed context.Context
	end    context.CancelCauseFunc
}

func newCopies() *copies {
	c := &copies{turn: make(chan struct{}, 1), gate: base.NewGate()}
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

// Backup writes a copy of the database, as it is at one version, to a folder,
// which must not exist or be empty, while commits go on. The version is not
// below that of any commit acknowledged before the call.
//
// Where the folder is on the same file system, the copy shares what it can of
// its files with the database by hard links: it is quick, takes little space
// until the database has changed, and nothing that the database does later
// changes it. It protects from mistakes, not from the loss of the disk: copy the
// folder elsewhere for that, with any tool. On another file system everything is
// copied. When Backup returns nil the copy is on the disk.
//
// The folder appears complete or not at all. It is filled under its name plus
// ".partial", which is removed after an error; what a crash leaves of it
// is refused by [Open] ([ErrUnfinished]), and removed by the next backup to the
// same name.
//
// [Open] opens the folder as a database of its own; [Restore] makes an
// independent copy of it; [Verify] checks it. An error, of which the folder's
// disk may be the cause, leaves the database as it was and in use. Backups are
// made one at a time; ctx ends waiting and copying. Close ends a backup with
// [kv.ErrClosed]. A database in memory has nothing to back up: [errors.ErrUnsupported].
// Nor is one that is open for reading backed up: [ErrReadOnly].
func (db *Database) Backup(ctx context.Context, dir string) (BackupInfo, error) {
	if db.disk == nil {
		return BackupInfo{}, fmt.Errorf("embedded: a database in memory cannot be backed up: %w", errors.ErrUnsupported)
	}
	if db.disk.options.ReadOnly {
		return BackupInfo{}, fmt.Errorf("embedded: backing up to %s: %w", dir, ErrReadOnly)
	}
	dir, err := db.disk.options.resolveDir(dir)
	if err != nil {
		return BackupInfo{}, err
	}
	ctx, end, err := db.disk.copies.begin(ctx)
	if err != nil {
		return BackupInfo{}, err
	}
	defer end()
	if err := db.disk.fault.Get(); err != nil {
		return BackupInfo{}, err
	}
	info, err := db.disk.backup(ctx, dir)
	if err != nil {
		return BackupInfo{}, fmt.Errorf("embedded: backing up to %s: %w", dir, err)
	}
	db.backups.Add(1)
	return info, nil
}
