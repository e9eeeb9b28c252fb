// SPDX-License-Identifier: Apache-2.0

// Command persistgen writes typed stores for annotated structs: one
// <package>_persist.go and one persist.lock beside the source of a package.
//
//	//go:generate go tool persistgen
//
// Flags: -check writes nothing and fails where something is out of date (for
// CI); with -against REVISION or FILE also where the stored data of that revision
// would not survive; -fix inserts missing ID fields, -explain prints what each
// method costs, -proto also writes <package>.proto, -tags sets build tags. The
// annotations are described in the package codegen.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/kazahana-db/kazahana/codegen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := codegen.Command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
