// SPDX-License-Identifier: Apache-2.0

// Package persistimpl is what the code that persistgen writes is built on. Only
// generated code imports it: it changes with the generator, without notice.
// Programs use package persistable.
package persistimpl
