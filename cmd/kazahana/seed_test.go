// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/bazaar"
)

// seedDatabase writes the database of package bazaar, which the commands of the script use then: seed DIR.
func seedDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: seed directory")
	}
	engine := createDatabase(ts, args[0])
	ts.Check(errors.Join(bazaar.Seed(context.Background(), engine), engine.Close()))
}
