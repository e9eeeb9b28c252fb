// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/move"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// open opens the database. It makes none.
func (p place) open(ctx context.Context, writes bool) (kv.Database, error) {
	switch {
	case p.folder != "" && writes:
		return openFolder(p.folder)
	case p.folder != "":
		return OpenFolder(p.folder)
	}
	return openCluster(ctx, p.cluster)
}

// OpenFolder opens the database of a folder for reading. It writes nothing.
func OpenFolder(folder string) (*embedded.Database, error) {
	db, err := embedded.OpenWith(folder, embedded.Options{ReadOnly: true})
	return db, ExplainMissing(folder, err)
}

// openFolder opens the database of a folder for writing.
func openFolder(folder string) (kv.Database, error) {
	if IsForeign(folder) {
		return nil, ExplainMissing(folder, iofs.ErrNotExist)
	}
	return embedded.Open(folder)
}

// ExplainMissing adds advice to the error of a folder without a database.
func ExplainMissing(folder string, err error) error {
	if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if below := databaseBelow(folder); below != "" {
		return fmt.Errorf("there is no database in the folder %s; there is one in %s (%w)", shell.Word(folder), shell.Word(below), err)
	}
	return fmt.Errorf("there is no database in the folder %s: is it the one that the program opens? (%w)", shell.Word(folder), err)
}

// databaseBelow returns the first folder in a folder that has a database, or "".
func databaseBelow(folder string) string {
	entries, _ := os.ReadDir(folder) // if there are none, there is nothing to propose
	for _, e := range entries {
		if below := filepath.Join(folder, e.Name()); e.IsDir() && !IsForeign(below) {
			return below
		}
	}
	return ""
}

// IsForeign reports whether a folder has no file of a database.
func IsForeign(folder string) bool {
	for _, name := range []string{"IDENTITY", "CLOSED", "BACKUP", "UNFINISHED", "base"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); !errors.Is(err, iofs.ErrNotExist) {
			return false
		}
	}
	segments, err := filepath.Glob(filepath.Join(folder, "*.log"))
	return err == nil && len(segments) == 0
}

// patience is how long a cluster may take to answer the first time.
const patience = 10 * time.Second

// openCluster opens a cluster that answers, and is not locked.
func openCluster(ctx context.Context, file string) (kv.Database, error) {
	db, lock, err := OpenCluster(ctx, file)
	if err == nil && lock != "" {
		err = errors.Join(fmt.Errorf("the cluster of %s is locked, and nothing can be read or written: %s", shell.Word(file), lock), db.Close())
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}

// OpenCluster opens a cluster that answers, and returns why it is locked: then only
// transactions with [kv.OptionLockAware] read and write. It returns "" if it is not.
func OpenCluster(ctx context.Context, file string) (db kv.Database, lock string, err error) {
	if db, err = fdbkv.Open(file); err != nil {
		return nil, "", err
	}
	if lock, err = awaitAnswer(ctx, db, file); err != nil {
		return nil, "", errors.Join(err, db.Close())
	}
	return db, lock, nil
}

// awaitAnswer reads why a cluster is locked, and returns an error if it is not there.
func awaitAnswer(ctx context.Context, db kv.Database, file string) (lock string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	lock, err = move.LockOf(ctx, db)
	if err != nil && context.Cause(ctx) == errSilent {
		err = fmt.Errorf("the cluster of %s has not answered within %v: do its servers run, and can this machine reach them? (%w)", shell.Word(file), patience, err)
	}
	return lock, err
}

// errSilent is why a cluster is not waited for any longer.
var errSilent = errors.New("no answer")
