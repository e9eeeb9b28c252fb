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
	"strings"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
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
	if err := checkBinding(); err != nil {
		return nil, err
	}
	if clusterFile == "" {
		clusterFile = defaultClusterFile()
	}
	network.mu.Lock()
	defer network.mu.Unlock()
	if err := startNetwork(o.Network); err != nil {
		return nil, err
	}
	database, err := openHandle(clusterFile)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(o.applyTo(database.Options()), checkClusterFile(database, clusterFile)); err != nil {
		database.Close()
		return nil, err
	}
	db := &Database{fdb: database, defaults: o.Transactions, open: map[*futures]struct{}{}}
	db.groups.few = fewReaders
	return db, nil
}

// checkClusterFile returns the fault of a cluster file, which the client keeps to itself
// until a transaction uses it. The size of a transaction is known without the
// cluster, though with external clients only when one of them has connected:
// that is not waited for.
func checkClusterFile(database fdb.Database, clusterFile string) error {
	tr, err := database.CreateTransaction()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err == nil {
		_, err = newTransaction(nil, tr).GetApproximateSize().Get(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("fdbkv: the cluster file %s, which is to have one line, description:id@host:port,…: %w", clusterFile, fromBinding(err))
	}
	return nil
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

// openHandle opens a database of the binding for one Database alone. The binding
// keeps one database for each name of a cluster file, and closing it closes it for
// every Open by that name. So openHandle spells the file's path differently each
// time. The caller holds network.mu.
func openHandle(clusterFile string) (fdb.Database, error) {
	path, err := filepath.Abs(clusterFile)
	if err == nil {
		_, err = os.Stat(path) // the client would only say that there is none
	}
	if err != nil {
		return fdb.Database{}, fmt.Errorf("fdbkv: the cluster file: %w", err)
	}
	network.opened++
	database, err := fdb.OpenDatabase(numberedPath(path, network.opened))
	if err != nil {
		return fdb.Database{}, fmt.Errorf("fdbkv: opening the cluster of %s: %w", path, fromBinding(err))
	}
	return database, nil
}

// numberedPath spells a path in a way that no other number has.
func numberedPath(path string, number int) string {
	dir, name := filepath.Split(path)
	var steps strings.Builder
	for ; number > 0; number >>= 1 {
		steps.WriteString([]string{".//", "./"}[number&1])
	}
	return dir + steps.String() + name
}

// closeHandle closes what openHandle opened.
func closeHandle(database fdb.Database) {
	network.mu.Lock()
	defer network.mu.Unlock()
	database.Close()
}
