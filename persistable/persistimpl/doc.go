// SPDX-License-Identifier: Apache-2.0

// Package persistimpl is the base of the code that persistgen writes. Only
// generated code imports it: it changes with the generator, without notice.
// Programs use package persistable.
package persistimpl
