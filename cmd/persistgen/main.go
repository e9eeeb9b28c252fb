// SPDX-License-Identifier: Apache-2.0

// Command persistgen writes typed stores for annotated structs: one
// <package>_persist.go and one persist.lock in the folder of each package.
//
//	//go:generate go tool persistgen
//
// Flags: -check writes nothing and fails if generated files are out of date (for
// CI); with -against REVISION or FILE it also fails if data stored by that revision
// could not be read. Without packages it looks at the one in the working directory, so
// give ./... in CI. -fix inserts missing ID fields, -explain prints what each
// method costs, -proto also writes <package>.proto, -graph draws the types and
// -graph-into writes the drawing into a README, -watch generates again whenever the
// source changes, -tags sets build tags. Package codegen and
// docs/tags.md describe the annotations.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kazahana-db/kazahana/codegen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := codegen.Command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
