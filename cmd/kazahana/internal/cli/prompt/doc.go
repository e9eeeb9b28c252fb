// SPDX-License-Identifier: Apache-2.0

// Package prompt has the command kazahana shell: a prompt for all other commands, on a
// database that stays open. A terminal has history, completion and a working directory;
// lines of a pipe run until the first error.
package prompt
