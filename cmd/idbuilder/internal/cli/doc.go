// SPDX-License-Identifier: Apache-2.0

// Package cli is the command idbuilder: the ID service as a program, and the
// commands of its operators.
//
//	code := cli.Run(ctx, os.Args[1:], shell.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
//	os.Exit(code)
//
// Results go to Out, a line or a block of text each, or with --json one JSON
// object a line. Errors and the log go to Err.
package cli
