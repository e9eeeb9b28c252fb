// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kazahana-db/kazahana/codegen"
)

// What the methods of a store cost, before there is one.
func ExampleRun() {
	err := codegen.Run(context.Background(), codegen.Options{
		Dir:     "testdata/example",
		Explain: true,
		Stdout:  os.Stdout,
	})
	fmt.Println("error:", err)
	// Output:
	// rounds: round trips for reading; a transaction that writes has one more, its commit.
	// n: records asked for or found. conflicts: what makes a transaction retry if others
	// write it; single operations that only read never do. The ranges of a scattered type or
	// index are its shards: they are read side by side and merged.
	//
	// example.Order in tenants/{TenantID}/orders
	// method                    rounds  reads  ranges  writes  conflicts
	// Create                    1       2      0       3       the record's key and its unique keys
	// CreateWithID              1       2      0       3       the record's key and its unique keys
	// Save                      1       2      0       1 to 5  the record's key and its unique keys
	// Delete                    1       1      0       3       the record's key
	// Get                       1       1      0       0       the record's key
	// GetMany                   1       n      0       0       the records' keys
	// Exists                    1       1      0       0       the record's key
	// Scan                      1       0      1       0       the range of IDs
	// ByStatusCreatedAt         2       n      1       0       the range scanned and the records' keys
	// OrderedByStatusCreatedAt  2       n      1       0       the range scanned and the records' keys
	// ByNumber                  2       2      0       0       the unique key and the record's
	// OrderedByNumber           2       n      1       0       the range scanned and the records' keys
	// error: <nil>
}

// A program of its own may look at the faults one by one.
func ExampleDiagnostics() {
	err := error(codegen.Diagnostics{{
		File: "order.go", Line: 12, Column: 35, Subject: "Order.Status",
		Message: "unknown option indx; did you mean index?",
	}})
	var faults codegen.Diagnostics
	if errors.As(err, &faults) {
		fmt.Println(len(faults), faults[0])
	}
	// Output: 1 order.go:12:35: Order.Status: unknown option indx; did you mean index?
}
