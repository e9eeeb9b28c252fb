// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Open opens the cluster that a cluster file names. "" is, as for FoundationDB's
// own tools, the file that the environment's FDB_CLUSTER_FILE names, else
// fdb.cluster in the working directory, else the system's.
//
// Open does not wait for the cluster: transactions do, as long as their contexts
// and timeouts let them. Several databases may be open, of one cluster or of
// several.
func Open(clusterFile string) (*Database, error) { return OpenWith(clusterFile, Options{}) }

// OpenWith is [Open] with options.
func OpenWith(clusterFile string, o Options) (*Database, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if clusterFile == "" {
		clusterFile = defaultClusterFile()
	}
	path, err := filepath.Abs(clusterFile)
	if err != nil {
		return nil, fmt.Errorf("fdbkv: the cluster file: %w", err)
	}
	address, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fdbkv: the cluster file: %w", err)
	}
	if err := startNetwork(o.Network, string(address)); err != nil {
		return nil, explainClusterFile(path, err)
	}
	client, code := openDatabase(path)
	if code != 0 {
		return nil, fmt.Errorf("fdbkv: opening the cluster of %s: %w", path, newError(kv.Code(code), "opening a database"))
	}
	db := &Database{client: client, defaults: o.Transactions, open: map[*futures]struct{}{}}
	db.groups.few = fewReaders
	if err := errors.Join(o.applyTo(client), explainClusterFile(path, checkClusterFile(db))); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// explainClusterFile adds to an error which file the client cannot use.
func explainClusterFile(path string, err error) error {
	if kv.CodeOf(err) == 0 {
		return err
	}
	return fmt.Errorf("fdbkv: the cluster file %s, which is to have one line, description:id@host:port,…: %w", path, err)
}

// checkClusterFile returns the fault of a cluster file, which the client keeps to itself
// until a transaction uses it. The size of a transaction is known without the
// cluster, though with external clients only when one of them has connected:
// that is not waited for.
func checkClusterFile(db *Database) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	t, err := db.begin(true)
	if err != nil {
		return err
	}
	defer t.Release()
	if _, err = t.GetApproximateSize().Get(ctx); ctx.Err() != nil {
		return nil
	}
	return err
}

// defaultClusterFile resolves the file as the client does.
func defaultClusterFile() string {
	if file := os.Getenv("FDB_CLUSTER_FILE"); file != "" {
		return file
	}
	if _, err := os.Stat("fdb.cluster"); err == nil {
		return "fdb.cluster"
	}
	if runtime.GOOS == "darwin" {
		return "/usr/local/etc/foundationdb/fdb.cluster"
	}
	return "/etc/foundationdb/fdb.cluster"
}
