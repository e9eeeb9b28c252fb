// SPDX-License-Identifier: Apache-2.0

// Package shell has what the project's commands share: the output of results and
// errors, and additions to cobra.
//
//	c := shell.NewConsole("kazahana", os.Args[1:], shell.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
//	root := shell.Group("kazahana", "Make IDs", sub, another)
//	c.Prepare(root)
//	if err := root.ExecuteContext(ctx); err != nil {
//		os.Exit(c.Fail(err, shell.Code(err)))
//	}
//
// Results go to Out, a line or a block of text each, or with --json one JSON object
// a line. Errors go to Err. Foreign text in either is escaped, so that it cannot
// act on a terminal.
package shell
