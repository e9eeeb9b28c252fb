// SPDX-License-Identifier: Apache-2.0

// Package files creates, syncs and renames files. Its functions bring contents and
// names to the disk before they return.
package files
