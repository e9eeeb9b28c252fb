// SPDX-License-Identifier: Apache-2.0

// Package explain turns the errors of libraries into the words, and the exit
// codes, of the command kazahana.
package explain
