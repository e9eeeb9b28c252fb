// SPDX-License-Identifier: Apache-2.0

// Package output holds what persistgen writes: files that are replaced by rename,
// and only if their content changes, and how a generated file is recognized.
package output
