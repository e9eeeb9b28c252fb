// SPDX-License-Identifier: Apache-2.0

// Package files has what the engine does with files beside reading and writing: it brings
// contents and names to the disk before it returns.
package files
