// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// ErrReadOnly is why a database that was opened with [Options.ReadOnly] refuses
// commits that write, and backups. The code of such a commit's error is
// [kv.CodeTransactionReadOnly].
var ErrReadOnly = errors.New("embedded: the database is open for reading only")

// openReadOnly opens a folder and changes nothing in it.
func openReadOnly(dir string, o Options) (*Database, error) {
	lock, err := holdOpen(o.FS, dir)
	if err != nil {
		return nil, err
	}
	o.FS = lock.Guard(o.FS)
	db, err := readDatabase(dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	db.disk.lock = lock
	return db, nil
}

// readDatabase reads the log of a folder into a window over its base.
func readDatabase(dir string, o Options) (*Database, error) {
	p, err := readParts(o.FS, dir)
	if err != nil {
		return nil, err
	}
	exists, err := p.hasBase()
	if err == nil && !exists {
		err = fmt.Errorf("embedded: %s holds no database: %w", dir, iofs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	b, err := base.OpenReadOnly(o.FS, o.FS.PathJoin(dir, baseDir), o.CacheSize)
	if err != nil {
		return nil, err
	}
	db := &Database{disk: &disk{
		base: b, fault: fault.New(), copies: newCopies(), options: o, dir: dir, identity: p.identity,
	}}
	if err := db.replay(&p); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	db.committer.Refuse(fmt.Errorf("%w: %w", ErrReadOnly, kv.NewError(kv.CodeTransactionReadOnly, "the transaction writes")))
	return db, nil
}
