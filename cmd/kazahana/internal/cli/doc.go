// SPDX-License-Identifier: Apache-2.0

// Package cli is the command kazahana: its subcommands, flags and output.
//
//	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
//	os.Exit(code)
//
// Results go to Out, a line or a block of text each, or with --json one JSON
// object a line. Errors go to Err and decide the exit code; package explain has the
// codes.
//
// Each group of commands is a package below this one. Package leasehome opens what
// the flag --leases names, and package layoutflag reads --epoch and --bits.
package cli
