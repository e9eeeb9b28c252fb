// SPDX-License-Identifier: Apache-2.0

// Package indexes has the commands kazahana index, which list, build, check, mend and
// drop the indexes of stores, without the Go code of their types.
package indexes
