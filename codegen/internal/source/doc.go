// SPDX-License-Identifier: Apache-2.0

// Package source loads Go packages with their types and syntax. It executes none of
// their code.
//
// While it loads a package it replaces an earlier output of persistgen by an empty
// file, so that a stale or broken output does no harm. It also decides which type
// errors keep persistgen from writing: see [Package.Tolerates].
package source
