// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/move"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

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
	within, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	lock, err = move.LockOf(within, db)
	if err != nil && context.Cause(within) == errSilent {
		at := place{cluster: file}
		err = fmt.Errorf("%s %w within %v.%s %s", at, errSilent, patience, whySilent(ctx, db), at.remedy())
	}
	return lock, err
}

// whySilent says what its client knows of a cluster that does not answer; nothing if it knows
// no reason.
func whySilent(ctx context.Context, db kv.Database) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := cluster.Read(ctx, db)
	if err != nil || status.Health.Available {
		return ""
	}
	var reasons []string
	for _, f := range status.Health.Faults() {
		reasons = append(reasons, f.Reason)
	}
	return " Its status says: " + strings.Join(reasons, "; ") + "."
}

// errSilent is why a cluster is not waited for any longer.
var errSilent = errors.New("has not answered")
