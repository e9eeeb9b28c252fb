// SPDX-License-Identifier: Apache-2.0

// Package dirs has the commands kazahana dir, which show, move and remove directories.
package dirs
