// SPDX-License-Identifier: Apache-2.0

// Package source loads Go packages with their types and syntax. It executes none of
// their code.
//
// An earlier output of persistgen is replaced by an empty file while its package is
// loaded, so that an output that is stale or broken does not matter. The package
// also decides which type errors keep persistgen from writing: see
// [Package.Tolerates].
package source
