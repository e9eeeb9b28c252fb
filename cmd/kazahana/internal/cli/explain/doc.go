// SPDX-License-Identifier: Apache-2.0

// Package explain turns the errors of libraries into messages and exit codes of the
// command kazahana.
package explain
