// SPDX-License-Identifier: Apache-2.0

// Package output writes the files of persistgen. It replaces a file by rename, and
// only if the content changes, and it recognizes generated files.
package output
