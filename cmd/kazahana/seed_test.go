// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// seedDatabase writes the database of package bazaar: seed DIR.
func seedDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: seed directory")
	}
	engine, err := embedded.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(errors.Join(bazaar.Seed(context.Background(), engine), engine.Close()))
}
