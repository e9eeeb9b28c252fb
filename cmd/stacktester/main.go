// SPDX-License-Identifier: Apache-2.0

// Stacktester lets FoundationDB's binding tester drive this module's kv, tuple
// and directory on a cluster. It is built with -tags foundationdb and called by
// the binding tester as
//
//	stacktester PREFIX API_VERSION [CLUSTER_FILE]
//
// See docs/architecture.md for how to run the binding tester.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"github.com/kazahana-db/kazahana/cmd/stacktester/internal/stacktester"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "stacktester:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	if len(args) != 2 && len(args) != 3 {
		return errors.New("usage: stacktester PREFIX API_VERSION [CLUSTER_FILE]")
	}
	if version, err := strconv.Atoi(args[1]); err != nil || version != fdbkv.APIVersion {
		return fmt.Errorf("the API version is %s: run the binding tester with --api-version %d", args[1], fdbkv.APIVersion)
	}
	clusterFile := ""
	if len(args) == 3 {
		clusterFile = args[2]
	}
	db, err := fdbkv.Open(clusterFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return stacktester.Run(ctx, db, []byte(args[0]))
}
